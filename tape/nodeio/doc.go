// Package nodeio moves the contents of files between a tape server and the nodes that have their disks, over XRootD. A tape server
// opens a file at the node, and with the capability, that the manager's [tapeapi.Grant] names, as a client does after a redirect.
//
// One request in flight at a time cannot keep a drive busy: each waits for a disk and a round trip. A [Source] takes several reads at once,
// and a [Sink] sends ahead of the answers, up to [WindowBytes]. Pages come and go with their CRC32C, which both ends verify.
//
// It is a package of its own, as it needs the XRootD client, and the tape server does without.
package nodeio
