// Package doctor has the command `hemera doctor`: it measures a machine level by level, and reports the narrowest level
// and the faults.
//
// Package measure/doctor judges, and measure/doctor/observe measures. This package has the flags, and the tables for
// people.
//
// The command needs no cluster. If one is given by --url or the environment, the command also measures the path to it.
// One goroutine draws the progress line, and shares only the line with the others.
//
// # Machines of the cluster
//
// With a node, a path or --all the command examines others in place of this machine.
//
//  1. The manager returns the nodes: all, the named one, or those with pieces of the path's files.
//  2. This machine measures the path to each of them.
//  3. The manager gives each host an order. The node there runs this command and returns its snapshot.
//  4. The snapshots are judged here, by the rules of this version, and shown one after another.
//
// If a machine cannot be examined the command fails at the end, after it has shown all others. The order fails when its
// node goes offline, so it does not delay the others for long.
package doctor
