// Package checksum computes every [hemera.ChecksumKind] over a stream, several at once where a file needs several, and
// the CRC32Cs of pages that pgread, pgwrite and pieces on disk carry.
//
// Data should be read once only. So the package has a type for each order in which bytes arrive:
//
//   - [Multi] takes a stream and returns the checksums of all its kinds.
//   - [Appender] combines the CRC32Cs of parts into that of the whole, in their order, and [Parts] in any order,
//     without reading the data again.
//
// - [Change] computes new checksums from the old checksums of a content and from the bytes that changed, where the kind
// allows it.
//   - [PageSums] and [VerifyPages] make and compare the CRC32Cs of pages.
//
// A page is [hemera.PageSize] bytes at a multiple of that in the file or piece; a write across the end of a page has a
// checksum for each fragment. Zeros that were never written count as zeros and are not read.
//
// The package is pure: no I/O, no clock, no goroutine. Functions fail only for unknown kinds. Hashers and the types above
// are not safe for concurrent use.
package checksum
