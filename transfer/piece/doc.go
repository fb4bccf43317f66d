// Package piece reaches the pieces of files: on the disks of this node, and through its [Peers]. It is the floor that reads, writes
// and jobs stand on, and knows nothing of them.
//
//   - [Node] has the disks, the peers and what all transfers of a node share.
//   - [Local] is a pending piece on a disk of this node. It looks like one at a peer: [Writer] is both.
//   - [Source] is what content is read from, page by page, verified; [Copy] moves content from one to a [Writer].
//
// Errors name the file ([Subject]) and the call of package transfer that they belong to.
//
// Calls of disks and peers block, for a bounded time each. Locks of this package are leaves: none is held over a call.
package piece
