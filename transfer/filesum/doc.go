// Package filesum computes the whole-file checksums of a content: while it is written ([Stream]), from those of the base of an update
// ([Update]), or by reading a piece. Holes cost no reads, and most checksums no time.
//
// Its types belong to one caller at a time, the holder of a write's turn.
package filesum
