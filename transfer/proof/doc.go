// Package proof shows that sealed pieces are those of one content, without any node reading more than its own piece.
//
// The client of a direct write codes the content and seals the pieces by itself. Nothing that it says is believed:
//
//   - Each node computes sums of its piece ([Of]) from pages that it verifies: the CRC32C and the Adler-32 of each block of
//     a data piece, and a sketch of each unit of any piece.
//   - The head collects them, a part of all pieces at a time ([Check.Take]). The sketches show that parity agrees with
//     data: they are linear sums under a random key that the head draws after the pieces are sealed, so a client that
//     does not know it cannot make pieces that disagree and pass, but with a probability below 2^-60 a unit
//     (rules/erasure: Sketcher).
//   - The sums of the blocks, combined in the order of the file, are the checksums of the content. They have to be those
//     that the client claims and the footers have ([Check.End]).
//
// So all pieces of a committed content agree: a reader gets the same bytes from any pieces that suffice, and the bytes have
// the file's checksums.
//
// # Units
//
// A part of a piece is compared with the same part of the others, as codes work on each byte position by itself. Sketches
// are of units of at least 1 MiB, of whole blocks; shorter ones would cost more time. A piece that ends before the longest
// one counts with zeros, as the layout implies them.
//
// # What it costs
//
// A node reads its piece once more, mostly from memory, and computes two sums: about half a second of a core for a
// gigabyte. The head takes some microseconds a megabyte. Answers have 16 bytes a block and 8 a unit.
//
// The package is pure, but for the pages that it is given to read.
package proof
