// Package netwatch has a host with a bad cable found: a real manager and real nodes, in network namespaces of this machine, with clients
// that write and read. The kernel drops a share of what one of the hosts sends, at the switch. `hemera net ls` and `hemera status` must
// name that host and no other, it must get a lower weight, and it must be well again after the cable is.
//
// The test takes some minutes of a machine that does little else, needs root, and the program under test:
// HEMERA_NETWORKS=1 go test ./test/conform/netwatch/ -args -hemera bin/hemera. scripts/test.sh loss runs it.
package netwatch
