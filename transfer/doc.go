// Package transfer moves the bytes of one open file at a storage node: a write goes to all pieces at once and ends in
// seal and commit; a read is verified and finds another piece when one is bad.
//
// # Where things are
//
// Each package uses those below it:
//
//	transfer     writes, the table of what is pending, and the Host that brings all together
//	jobs         copies, verifies and repairs one piece, as the manager orders
//	read         reads committed files
//	filesum      whole-file checksums of a content
//	piece        pieces on disks of this node and of peers, and what all transfers of a node share
//	ledger       the states of the pieces of one write, and the next step of a close; pure
//	proof        shows that pieces which a client made are one content
//	ahead        reads a striped file ahead of its reader, with rowcache, the memory of decoded rows
//	extents      the bytes of a pending content that were written; pure
//
// Package conversion copies a file at its head as a client would, and package peers reaches pieces of other nodes.
//
// # Types
//
//   - [Host] is the node: its disks and peers ([piece.Node]), what its readers share ([read.Shared]), and what its writes share
//     ([Writes], with the manager). Each part takes the one that it needs.
//   - [Pending] is the node's table of writes that are not ended, and of pieces whose head is elsewhere. It opens
//     everything, so a client that lost its connection finds its write again by the same capability. It lists the writes that a
//     manager which was started since may not know (announce.go).
//   - [Writer] is the head of one write. Its bytes are in a content, one of three. Those of a content on disks lie in its pieces by
//     one of two spreads: copies, or a code.
//   - [read.Reader] is one committed file. It reads one replica and changes to another when that fails. Of a coded file it
//     reads the pieces that have the bytes, and computes what cannot be read.
//   - [piece.Peers] reaches pieces on other nodes. Package transfer/peers implements it over the XRootD protocol.
//
// What clients hold are handles of these: [hemera.File] for a file, [hemera.PieceHandle] for a piece, which is what the
// heads and readers of other nodes hold. Package transfertest has the suites that all implementations pass.
//
// # The states of a write
//
// A write begins without any piece, so that an empty file costs no disk anything. Its content is in one of these:
//
//	           grows, is synced                    first change
//	inline ──────────────────────▶ pieces ◀─────────────────────── baseView
//	memory, at most 64 KiB         one a target                    of an update:
//	                                                               reads the base
//
// The pieces of an update begin as copies of those of its base, which their disks make.
//
// The write itself goes through these phases:
//
//	writing ──▶ committing ──▶ ended
//	   │ ╲         ▲  │          ▲
//	   │  ╲________│__│__________│       aborted, failed, or nothing had changed
//	   ╰────────▶ awaiting ──────╯       dropped, or its time is over
//
// In awaiting all is sealed, and a person decides, as the client did not come back. In committing all is sealed, and only
// the manager's answer is missing. If that does not come within
// [CommitPatience], close fails as undecided: the content may be visible. The write stays in the table, and a close
// that is repeated sends the same request, which the manager takes once.
//
// Each piece of a write has a state of its own in the ledger: planned, live, failed or sealed. The ledger (package ledger) is
// a pure state machine. It decides what a close does next: seal what is live, fill what is planned (from memory, or from a
// sealed piece), ask the manager for other disks for what failed, commit, or fail.
//
// # Invariants
//
//   - A commit has at least the pieces that its capability asks for, and as many as the file can be read from.
//   - Every page carries its CRC32C from the client, or from the first buffer it was in, to the table of its piece. Bytes
//     that wait in memory are compared with theirs before they go to a disk.
//   - Overlapping writes reach all pieces in one order.
//   - After a failed close no piece is left, unless the commit may have happened: then the audit decides.
//   - A reader returns no byte that does not match the CRC of its page, or that was computed from such bytes.
//   - Parity and data of a pending coded content agree before and after each call that changes it.
//   - Only the piece table (not a connection, not a handle) decides whether a write goes on. A write that was aborted is
//     never begun again by a client that means to continue it.
//
// # Concurrency
//
// A Writer has two guards. Its turn orders the calls that use the content: it is held while disks and nodes are
// waited for, and everything below "turn" in the struct belongs to its holder. Sync, Adopt and Replacement stop waiting for it when their
// context ends; the other calls have none, or must not stop half-way (Close, Abort). Its mutex guards the
// state that anybody may ask for (size, phase, time, attributes); it is held for a few instructions, so Info and the
// table never wait for a device.
//
// A Reader counts the calls in progress, which keep its pieces open, and has a mutex over the states of its replicas.
// One call opens a replica; others that need it wait on a channel, and all that can read another open one do.
//
// Order of locks: Pending.mu, then Writer.mu or pendingPiece.mu. The locks of Reader and of the packages below are
// leaves. No lock is held over a disk, another node, the manager or a channel.
//
// Goroutines: a fan-out has one for each piece but one, which end with the call. Work in the background (removing lost
// pieces, repairing single pages) is counted; [piece.Node.Wait] waits for it. Timers of the table expire what nobody holds.
//
// # What blocks
//
// Calls of disks return, as package disk/bounded gives each a deadline. A piece whose disk is stalled is lost like
// one whose peer is silent, and moves to another disk; if it is the only live one, a write fails as I/O, which has stock
// clients begin again elsewhere. Peers have timeouts of their own. Questions to the manager end after [piece.CallTimeout]; a
// commit is repeated for CommitPatience.
//
// After a stalled call its buffers are the device's: see [hemera.KeepsBuffers]. Reads that fail so go on at another
// replica with other memory. The memory of a stalled write may still be read by it; what it puts on the disk then
// belongs to a piece that is lost, and is removed with it.
//
// # Layouts
//
// Which bytes a piece has is the business of package rules/layout, and how parity follows from data that of rules/erasure.
// A layout of copies sends all pages to all pieces. A coded layout has several data pieces, and a [Writer] sends each page to
// the one that has it. A piece without bytes in the file is not made at all.
//
// A pending content of a coded layout (codedPieces) holds this invariant: parity, whether in memory or in its
// pieces, agrees with all data that was accepted. Three things follow:
//
//   - As many pieces can be lost at any moment of a write as the code survives. What was accepted can be read back, and is
//     made again at the close.
//   - A row is coded once if its bytes come once, in whatever order. Only bytes that are overwritten are read back.
//   - Memory is bounded: a row's parity may be sent at any time, and be read back if the row changes once more.
//
// A write under way looks like this, with the row 1 in memory (k = 2, one parity):
//
//	          piece 0          piece 1          piece 2 (parity)
//	row 0     sent             sent             sent when the row was full
//	row 1     sent             half of it sent  in memory: of what was sent
//	row 2     -                -                -
//
// A sync, a read of a lost column and the close send the parity of row 1 too. If more comes for the row after that, its
// parity is read back and goes on from there.
//
// A reader of a coded file asks the piece that has a block, and no other, so a small read costs one request. Blocks of
// different pieces are read at once. A page that is bad, and a piece that cannot be read, is computed from other pieces, in
// steps of 256 KiB; each of those is verified by its own checksums, so what is computed is right. That counts as Rebuilt.
//
// A caller that reads a little at a time, in order, would use one disk after the other. Package ahead fetches the blocks that
// come next from their disks, all at once, in up to 8 MiB a file and the Ahead of [read.Shared] a node.
//
// What it costs: a write keeps the parity of up to 8 rows (parityrow.go), all writes of a node 256 MiB of it. A reader that decodes takes
// 256 KiB a piece that it reads, for the length of a call. Neither grows with the file. A reader that lacks a data piece and
// reads whole blocks keeps what it read of a row until the row was read, so that no byte is asked for twice: 64 MiB at most,
// all readers of a node 256 MiB (read/degraded.go, package rowcache).
//
// A piece that is slow is read once more without a limit when the others are not enough (read/hedge.go). Copies wait longer for
// a read than clients do: nobody waits for them, and what is hedged is carried in vain.
//
// What blocks: a write waits for the pieces that it has bytes for, and for parity pieces when a row is full. A read waits
// for the pieces that it needs, all at once. A lost column makes a read wait for as many pieces as the code reads.
//
// A stripe has no parity: its reader fails when one of the pieces cannot be read, with NoReplicas. Nothing of it can be
// repaired but by its pieces coming back.
//
// # Direct writes
//
// A client can be the one that codes: it runs this package as a host without disks, and sends every piece to its node. The
// head keeps the name, and commits:
//
//	client                        nodes of the pieces              head
//	open ─────────────────────────────────────────────────────────▶ a pending write, without a byte
//	pages, parity, offer ────────▶ pieces, pending
//	adopt: size, sums, pieces ────────────────────────────────────▶ takes the pieces
//	                               sums of each piece ◀──── prove   draws a key
//	                                                  ────────────▶ compares (package proof)
//	                               footers ◀─────────────── seal
//	close ────────────────────────────────────────────────────────▶ commits, as it does any write
//
// The head trusts nothing that the client says. What it commits are pieces that agree with each other, and that have the
// checksums that the namespace gets. A piece that a head has taken is that head's, so the client cannot put another one in its
// place (owner.go). What a client leaves behind is never sealed. It goes when nobody holds it, with the abort of the write, and
// with the end of its capability.
//
// What it costs: the head moves no data. Each node reads its piece once more, mostly from memory, a part at a time; the answers
// have 24 bytes for a megabyte. Of k data pieces and m of parity the client sends (k+m)/k of the file's size, and the network
// carries nothing twice; through a head the client sends the file once, and the head most of (k+m)/k again.
//
// What blocks: adopt waits for the slowest node, as a close waits for the slowest seal. The turn of the write is held
// meanwhile, so an abort of the client waits too, for the time that a node takes for one part.
//
// A direct write is a new content of a coded layout, with checksums that can be told from those of its blocks. Others go
// through the head.
//
// A piece that is made again, at the close of a write or by an order, is read from a [read.Reader] too: as it is where it can be
// read, computed otherwise.
package transfer
