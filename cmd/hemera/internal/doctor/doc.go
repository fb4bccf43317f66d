// Package doctor has the command `hemera doctor`: it measures a machine level by level, names the narrowest level, and finds what is wrong.
//
// Package measure/doctor judges, and measure/doctor/observe measures. Here are the flags, and the tables for people.
//
// The command needs no cluster. If one is named, by --url or the environment, the path to it is part of the picture. One goroutine
// draws the progress line; the line is all that it shares with the others.
//
// # Machines of the cluster
//
// With a node, a path or --all the command examines others in place of this machine.
//
//  1. The manager tells the nodes: all, the one that is named, or those with pieces of the path's files.
//  2. This machine measures the way to each of them.
//  3. The manager gives each host an order. The node there runs this very command, and its snapshot comes back.
//  4. The snapshots are judged here, by the rules of this version, and shown one after another.
//
// A machine that cannot be examined is an error at the end, after all others were shown. It does not keep them waiting longer
// than the order does: a node that goes offline fails it.
package doctor
