// Package erasure has the codes of coded files: it computes parity pieces from data pieces, and lost pieces from others.
//
// A coded file has k data pieces and some parity pieces, 32 in all at most. The package sees blocks of equal length, one
// of each piece. Package rules/layout decides which bytes of a file they have. A code works on each byte position
// separately. So a part of the blocks can be coded or rebuilt alone, if it is the same part of each block.
//
// # Codes
//
// [ReedSolomon] makes any k pieces enough. With m parity pieces every loss of m pieces can be rebuilt. A rebuild reads k
// pieces.
//
// [Local] splits the data into groups and gives each group a parity of its own, and the file some global parities. A lost
// piece is rebuilt from its group, which is smaller than k. Each loss of global+1 pieces can be rebuilt, and most larger
// ones. The number of pieces no longer decides whether a file can be read: [Code.Readable] computes it.
//
//	Local(12, 2, 2):  data 0-5, data 6-11, parity of 0-5, parity of 6-11, two parities of 0-11
//	                  a lost data piece is read from 6 others; ReedSolomon(12, 4) reads 12
//
// # Arithmetic
//
// Bytes are elements of GF(2^8) modulo x^8+x^4+x^3+x^2+1 (0x11d). Addition is exclusive or. A block of piece i is the sum
// of the data blocks times the coefficients of row i. The rows of data pieces are those of the unit matrix. The rows of
// parity pieces are in coefficients.go. They are a stored format: files that were written with them cannot be read with
// others. The coefficients of the module that multiplies are not used.
//
// The first parity of ReedSolomon and the local parities of Local have coefficients of one only. So they are the
// exclusive or of their data, and the CRC32Cs of pages show whether they agree with it. [Code.Agrees] compares
// them. For the other parities a [Sketcher] does the same, with a sum that each node computes from its own piece.
//
// # Use
//
// Sources returns the pieces to read for a lost one. A [Plan] has the same for several pieces, and the multiplications
// that follow. A plan costs some microseconds, so a caller makes it once for all rows of a file.
//
// # Invariants
//
// Codes, plans and sketchers are immutable after they are made, and safe for concurrent use. No function blocks, starts a
// goroutine or keeps a block after the call. Blocks of one call must not overlap. Memory for intermediate results comes
// from a pool that all codes share, at most 10 tiles of 64 KiB for a call.
//
// Functions fail with Invalid if blocks do not fit the code, and with NoReplicas if too few pieces are present.
package erasure
