// Package direct moves coded files between a client and the nodes of their pieces, without a head between.
//
// A stock client reads a coded file through one node, its head, which fetches the pieces of the others: nearly every byte
// crosses the storage network twice. With this package the client is its own head. It has the reader of package transfer
// in the client's process, on a host without disks whose peers are all nodes. So the client runs the same code as heads:
// it reads blocks of several pieces at once, computes lost, bad or slow pieces from the others, and verifies every page.
//
// # Reading
//
// [Client.Open] opens the file like any client: at the manager, which redirects to the head with a capability. The
// capability has the places of the pieces, and opens each of them at its node. Then suited decides. If direct access pays
// and the nodes can be reached, the file stays open at the head, but its bytes are read from the nodes:
//
//	open at the manager ─▶ head, with a capability ─▶ suited? ─┬─ no: through the head
//	                                                           └─ yes: from the nodes
//	                                                                     │ a read fails twice,
//	                                                                     ▼ with a new capability between
//	                                                              through the head
//
// A new capability is used only if it is for the same content of the file. It is needed if pieces were moved meanwhile,
// and when the old one has expired and a piece has to be opened that was not needed before.
//
// A [Reader] reads a range in order and ahead of its user, all pieces at once. The number of bytes in flight follows the
// rate of the slowest part (window), so that reads that wait for a slow link do not look like slow nodes.
//
// # Writing
//
// [Client.Create] opens the new file at its head in the same way. If the file is suited and direct access pays, the
// client runs the head's writer on its host without disks: it codes, sends each piece to its node, replaces targets that
// fail, and seals. The real head has the open file, but no bytes. The client sends the requests to it that a head sends
// to its manager (committer): other disks, the commit, the end. The head makes the nodes prove the pieces before it
// commits, so it need not trust the client.
//
//	open at the manager ─▶ head, with a capability ─▶ suited, and pays? ─┬─ no: through the head
//	                                                                     └─ yes: to the nodes ─▶ adopt ─▶ close
//
// A write that fails before the close left nothing behind ([Unwritten]); the same file may be written again through its
// head.
//
// # Invariants
//
//   - Returned bytes were compared with the CRC of their page, as the node stored it, or computed from such bytes.
//   - One [File] returns the bytes of one content.
//   - The values in a token are checked before use (parse): it may come from any server.
//
// # Concurrency
//
// Client and File are safe for concurrent use, a Reader and a Writer are not. Each read in flight has a goroutine, which
// ends with the read; Close does not wait for unused reads. No lock is held over the network: a File's turn is a channel
// with one place, for the call that replaces its pieces.
package direct
