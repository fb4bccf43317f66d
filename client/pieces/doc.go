// Package pieces rebuilds a file from the files of its pieces, and checks them, without a manager and without a node.
//
// [Open] takes the files of some pieces. Their footers describe the file and its layout; the names of the files do not
// matter. [File.WriteTo] writes the content in its order. It reads data pieces directly, and computes missing or damaged
// bytes from the others. Every page is compared with its checksum before use, and the whole with the checksums of the
// file. So content that was written without an error is the original one.
//
// [Check] reads one piece and reports its errors.
//
// # Required pieces
//
// Package layout knows which pieces are enough, and package erasure how the others follow from them. A small file of many
// columns has pieces without bytes. They are not stored, and count as zeros. Of two pieces with one number, as a move may
// have left them, both are used.
//
// # Damage
//
// A file that is not a piece, or has a bad footer, is a [Problem] and not an error, if the others are enough. A bad page
// is taken from other pieces; only a place that is bad in too many of them ends the work. So if all pieces are damaged,
// but at different places, the file can still be rebuilt.
//
// Memory is a buffer for each piece and one for the output, for any file and block size. The pieces are never written.
//
// # No node
//
// A node finds pieces by their place on a disk with a label, and asks its manager who may read them. An admin who has
// only the bare files of a broken machine has neither.
package pieces
