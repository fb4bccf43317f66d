// Package checksum computes every [hemera.ChecksumKind] over a stream, several at once where a file
// needs several, and the CRC32Cs of pages that pgread, pgwrite and pieces on disk carry. The
// CRC32C of a whole can be combined from those of its parts without reading the data again, and most
// checksums of a changed content follow from the old ones and the changed bytes ([Change]).
//
// The package is pure: no I/O, no clock, no goroutine. Nothing here fails, but for kinds that do
// not exist.
package checksum
