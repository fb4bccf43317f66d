// Package label encodes and parses the labels of a tape: blocks of 80 ASCII bytes as in ANSI X3.27 level 3, with the two user
// labels of CERN's tape archive (CTA). A tape written with them is read by CTA, and the other way round.
//
//	VOL1                      the tape                     Volume
//	HDR1, EOF1                a file: archive id, VID      File
//	HDR2, EOF2                its record format            Format
//	UHL1, UTL1                its fSeq, block size, drive  User
//
// The label of a header and that of a trailer have the same fields; Trailer says which of the two it is. Strings that are longer than
// their field are cut, and numbers that do not fit are written modulo the field, as CTA does: fSeq of HDR1 is one, so UHL1 has the true one.
//
// Parse functions fail with Corrupt and name the field. What CTA's reader checks is checked here.
//
// The package is pure: no I/O, no clock, no goroutine.
package label
