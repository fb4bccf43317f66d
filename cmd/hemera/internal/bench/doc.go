// Package bench has the commands of `hemera bench`: what the machines, the network, the namespace and the cluster reach.
//
// Each level is a package below measure; here are its flags and its place in a run. A session runs levels one after
// another, shows how far they are, and keeps the directory of the run: result.json is written after every level, so that an
// interrupted run leaves what it has.
package bench
