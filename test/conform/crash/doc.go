// Package crash kills the processes of a real cluster, on one machine, in the middle of what they do:
// a manager and three nodes under load, each killed with SIGKILL and started again in turn; a node
// that is being read from; a node that the stock xrdcp is writing to. Afterwards every acknowledged
// file must be there with its content, and every other one absent or whole.
//
// The processes are those of package rig. The tests need the program under test: go test ./conform/crash/ -args -hemera bin/hemera. They are
// skipped without it.
package crash
