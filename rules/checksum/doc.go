// Package checksum computes every [hemera.ChecksumKind] over a stream, several at once where a file
// needs several, and the CRC32Cs of pages that pgread, pgwrite and pieces on disk carry.
//
// Data is read once, and seldom twice. So the package has a way for each order in which bytes come:
//
//   - [Multi] takes a stream and returns the checksums of all its kinds.
//   - [Appender] puts the CRC32C of a whole together from those of its parts, in their order, and [Parts] in any order,
//     without reading the data again.
//   - [Change] follows from the old checksums of a content and from the bytes that changed, where the kind allows it.
//   - [PageSums] and [VerifyPages] make and compare the CRC32Cs of pages.
//
// A page is [hemera.PageSize] bytes at a multiple of that in the file or piece; what is written across the end of a page has a
// checksum of each fragment. Zeros that were never written count as zeros and are not read.
//
// The package is pure: no I/O, no clock, no goroutine. Nothing here fails, but for kinds that do
// not exist. Hashers and the types above are used by one goroutine.
package checksum
