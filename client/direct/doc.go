// Package direct moves coded files between a client and the nodes of their pieces, without a head between.
//
// A stock client reads a coded file through one node, its head, which fetches the pieces of the others: nearly every byte
// crosses the storage network twice. This package makes the client its own head. It has the reader of package transfer in
// the client's process, on a host without disks whose peers are all nodes. So what heads do is done here by the same code:
// blocks of several pieces at once, pieces that are lost, bad or slow computed from the others, every page compared.
//
// # Reading
//
// [Client.Open] opens the file as every client does: at the manager, which redirects to the head with a capability. The
// capability says where the pieces are, and opens each of them at its node. Then suited decides. If the file pays and its
// nodes can be reached, the open file at the head is kept, but what is read comes from the nodes:
//
//	open at the manager ─▶ head, with a capability ─▶ suited? ─┬─ no: through the head
//	                                                           └─ yes: from the nodes
//	                                                                     │ a read fails twice,
//	                                                                     ▼ with a new capability between
//	                                                              through the head
//
// A new capability is for the same content of the file or is not used. It is needed when pieces were moved meanwhile, and when
// the old one has expired and a piece has to be opened that was not needed before.
//
// A [Reader] reads a range in order and ahead of its user, all pieces at once. What it has in flight follows the rate of the
// slowest part (window), so that reads queued in front of a slow link do not look like nodes that are slow.
//
// # Writing
//
// [Client.Create] opens the new file at its head in the same way. If the file suits and that pays, the client runs the head's
// writer on its host without disks: it codes, sends each piece to its node, replaces targets that fail, and seals. The real
// head has the name and not a byte. What a head asks of its manager, the client asks of that head (committer): other disks,
// the commit, the end. The head has the nodes prove the pieces before it commits, so it need not trust the client.
//
//	open at the manager ─▶ head, with a capability ─▶ suited, and pays? ─┬─ no: through the head
//	                                                                     └─ yes: to the nodes ─▶ adopt ─▶ close
//
// A write that fails before the close left nothing behind ([Unwritten]); the same file may be written again through its head.
//
// # Invariants
//
//   - What is returned was compared with the CRC of its page, as its node stored it, or computed from such bytes.
//   - One [File] returns the bytes of one content.
//   - What a token says is checked before it is used (parse): it may come from any server.
//
// # Concurrency
//
// Client and File are safe for concurrent use, a Reader and a Writer are for one goroutine. Each read in flight has a goroutine, which ends
// with the read; Close does not wait for those that nobody waits for. No lock is held over the network: a File's turn is a
// channel with one place, for the call that replaces its pieces.
package direct
