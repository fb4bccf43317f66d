// Package netwatch keeps what nodes count of their networks, has it judged, and tells what follows for each node. It is the
// manager's; rules/netjudge has the rules, and platform/netstat takes the samples at nodes.
//
// # From samples to a matrix
//
// A sample names the other ends of connections by address. [Watch] finds out which addresses are nodes: those that nodes are
// reached by, and those that their samples call their own. An address that two hosts call their own, such as that of a bridge for
// containers, belongs to none of them. All addresses that are no node's are clients, which are one more peer of each node.
//
// Nodes of one host have one network. They are judged as one, by the sum of their connections, and each of them gets the
// verdict. Connections within a host are not a network: nodes leave them out, and so does the matrix.
//
// # When
//
// A node sends a sample every [hemera.NetworkInterval] with a heartbeat. [Watch.Take] keeps the newest one of each node, and
// [Watch.Step] judges all that came since the step before: each sample counts once. Everything is in memory. After a start of the
// manager all nodes are unknown, and one that loses is found again within a minute.
//
// # Concurrency
//
// Methods may be called concurrently, but for Step, which one goroutine calls. The mutex guards memory only: the judge works on
// copies. A step of 1,000 nodes with 256 paths each takes 0.3 s of one processor and 110 MB of garbage, every 10 s; a report
// of them takes a millisecond. What is kept is about 30 MB then, and in a cluster of 100 nodes that all talk 1 MB.
package netwatch
