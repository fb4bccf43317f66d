// Package pieces makes a file again from the files of its pieces, and checks them, without a manager and without a node.
//
// [Open] takes the files of some pieces. Their footers say what the file is and how it was cut; the names of the files
// mean nothing. [File.WriteTo] writes the content in its order. It reads data pieces as they are, and computes what is
// missing or damaged from the others. Every page is compared with its checksum before it counts, and the whole with the
// checksums of the file, so that what is written without an error is what the client wrote.
//
// [Check] reads one piece and says what is wrong with it.
//
// # What a file needs
//
// Package layout knows which pieces are enough, and package erasure how the others follow from them. A piece that has no
// bytes, as a small file of many columns has some, is not stored anywhere, and counts as zeros. Of two pieces with one
// number, as a move may have left them, both are used.
//
// # Damage
//
// A file that is no piece, or has a bad footer, is a [Problem] and not an error, as long as the others are enough. A bad
// page is taken from other pieces; only a place that is bad in too many of them ends the work. So pieces that are all
// damaged still make the file, if they are damaged at different places.
//
// Memory is a buffer for each piece and one for the output, whatever the file and its blocks. Nothing is written to the pieces.
//
// # Why not a node
//
// A node finds pieces by their place on a disk with a label, and asks its manager who may read them. An admin who has only
// the bare files of a broken machine has neither.
package pieces
