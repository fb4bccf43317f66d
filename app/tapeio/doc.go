// Package tapeio moves the contents of files between a tape server and the nodes that have their disks, over XRootD. A tape server
// opens a file at the node, and with the capability, that the manager's [hemera.TapeGrant] names, as a client does after a redirect.
//
// One stream with one request in flight cannot keep a drive busy: each request waits for a disk and a round trip. A [Source] and a
// [Sink] therefore keep a window of requests in flight. Pages come and go with their CRC32C, which both ends verify.
//
// A Source keeps [WindowBytes] of memory at most, and so does a Sink. Sessions decide how many are open at once.
package tapeio
