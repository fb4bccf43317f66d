// Package volume is a formatted tape in a drive: it labels, appends tape files, reads them, and lists what a tape holds. What is written
// can be read by CTA, and tapes of CTA are read here; docs/tape/format.md has the bytes.
//
// # Files
//
// A tape file is a header of three labels, data blocks of 256 KiB and a trailer of three labels, with a filemark behind each of the three
// parts. Files are numbered by fSeq from 1 without gaps. The block id of a file is the number of the tape object where its header begins;
// that of the first file is stored as 0, as CTA does.
//
// An [Appender] writes files one after the other. Nothing that it wrote is durable before [Appender.Flush] returned nil; callers report no
// file before that. A file whose source fails in the middle is ended as any other, so that numbers stay contiguous, and the caller reports
// it as dead. If a session ends between a flush and its report, the next append overwrites what nobody knows of: [Volume.Append] goes
// behind the last file of the catalogue, not to the end of data.
//
// # Index files and containers
//
// An index file lists the files since the index before it, with what the namespace has of them, as lines of JSON. Together they say what
// is on a tape when the catalogue is lost. A container is a tape file with the contents of many small files and a table of them in front.
// Both are ordinary files with reserved archive ids. [Volume.Scan] reads the indexes, or labels where there are none.
//
// # Use
//
// A Volume, its Appender and its reads belong to one goroutine, as the tape does. Every call may block as long as the drive does; a
// context that ends is noticed between two blocks. After an error of the drive the position is unknown: reads go on, since they locate;
// an Appender refuses everything.
package volume
