package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// The geometry of a piece of size bytes (docs/formats/piece.md):
//
//	0                data, padded with zeros to whole pages
//	tableOff(size)   CRC32C of every page, in blocks that end in a CRC32C of their own
//	footerOff(size)  footer, to the end of the file
//
// A table block holds up to blockSums page CRCs and fills 4 KiB; the last one is as short as it can
// be. So a block is found by arithmetic, is checked by itself, and covers about 4 MiB of data.
const (
	blockSums = 1023
	blockSize = 4 * (blockSums + 1)
)

// pages returns the number of pages of the data; the last may be short.
func pages(size int64) int64 { return (size + hemera.PageSize - 1) / hemera.PageSize }

// blocks returns the number of blocks of the table.
func blocks(size int64) int64 { return (pages(size) + blockSums - 1) / blockSums }

// tableOff returns the offset of the table: the last page is filled up, so that the table does not share one with data.
func tableOff(size int64) int64 { return pages(size) * hemera.PageSize }

// footerOff returns the offset of the footer: behind four bytes for each page and for each block.
func footerOff(size int64) int64 { return tableOff(size) + 4*(pages(size)+blocks(size)) }

// pageLen returns the bytes of data in the page: all but the last are full. The CRC of a page is that of these bytes, so
// that it can be sent as it is.
func pageLen(size, page int64) int {
	return int(max(0, min(hemera.PageSize, size-page*hemera.PageSize)))
}

// blockLen returns the number of sums in the table block.
func blockLen(size, block int64) int { return int(min(blockSums, pages(size)-block*blockSums)) }

// appendBlock writes a table block of the sums, and their own CRC.
func appendBlock(b []byte, sums []uint32) []byte {
	start := len(b)
	for _, s := range sums {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	return binary.LittleEndian.AppendUint32(b, checksum.CRC32C(b[start:]))
}

// parseBlock reads a table block of len(sums) sums; false if its own CRC does not match.
func parseBlock(b []byte, sums []uint32) bool {
	n := 4 * len(sums)
	if len(b) != n+4 || binary.LittleEndian.Uint32(b[n:]) != checksum.CRC32C(b[:n]) {
		return false
	}
	for i := range sums {
		sums[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return true
}

// The footer is a head of fixed size, the path, the checksums and a trailer of fixed size that ends
// the file. docs/formats/piece.md has the bytes.
//
// Version 2 has the owner behind the checksums. Pieces of unknown owners are of version 1.
const (
	footerPlain = 1
	footerOwned = 2
	footerMagic = "HemPiece" // the last bytes of every sealed piece
	// footerKept is in the place of footerMagic in a piece that is kept and not committed. Its last byte alone differs, and is
	// behind the checksum: so it changes in one write of one byte, which no crash cuts.
	footerKept = "HemPieck"
	// headSize is id (file, generation, index), layout (kind, data, pieces, block size), size, file size, time of the
	// seal, length of the path, number of checksums; in bytes.
	headSize = 8 + 8 + 1 + 3 + 4 + 8 + 8 + 8 + 2 + 1
	// trailerSize is length of the footer, version, two bytes that are zero, CRC32C of what comes before, magic.
	trailerSize = 4 + 2 + 2 + 4 + 8
	// sumsMax bounds the checksums of the whole file in a footer; one is a kind and at most 32 bytes.
	sumsMax = 16
	// ownerSize is user, group and mode.
	ownerSize = 4 + 4 + 2
	footerMax = headSize + hemera.PathMax + sumsMax*(1+32) + ownerSize + trailerSize
)

// footerRoom returns at least the length of the piece's footer, in bytes: it counts each checksum at its longest.
func footerRoom(s hemera.PieceStat) int64 {
	return int64(headSize + len(s.Path) + len(s.Checksums)*(1+32) + ownerSize + trailerSize)
}

// appendFooter writes the footer of the piece. It refuses what parseFooter would: a piece that cannot be opened must not
// be sealed.
func appendFooter(b []byte, s hemera.PieceStat) ([]byte, error) {
	if len(s.Path) > hemera.PathMax || len(s.Checksums) > sumsMax {
		return nil, fmt.Errorf("path of %d bytes or %d checksums: too long for a footer", len(s.Path), len(s.Checksums))
	}
	le := binary.LittleEndian
	start := len(b)
	b = le.AppendUint64(b, uint64(s.ID.File))
	b = le.AppendUint64(b, uint64(s.ID.Gen))
	b = append(b, s.ID.Index, s.Layout.KindByte(), s.Layout.Data, s.Layout.Pieces)
	b = le.AppendUint32(b, s.Layout.BlockSize)
	b = le.AppendUint64(b, uint64(s.Size))
	b = le.AppendUint64(b, uint64(s.FileSize))
	b = le.AppendUint64(b, uint64(s.Sealed.UnixNano()))
	b = le.AppendUint16(b, uint16(len(s.Path)))
	b = append(b, uint8(len(s.Checksums)))
	b = append(b, s.Path...)
	for _, c := range s.Checksums {
		if !c.Kind.Valid() {
			return nil, fmt.Errorf("checksum kind %d is not known", c.Kind)
		}
		b = append(b, uint8(c.Kind))
		b = append(b, c.Value[:c.Kind.Size()]...)
	}
	version := uint16(footerPlain)
	if s.Owner != nil {
		version = footerOwned
		b = le.AppendUint32(b, s.Owner.UID)
		b = le.AppendUint32(b, s.Owner.GID)
		b = le.AppendUint16(b, uint16(s.Owner.Mode))
	}
	b = le.AppendUint32(b, uint32(len(b)-start+trailerSize))
	b = le.AppendUint16(b, version)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, checksum.CRC32C(b[start:]))
	return append(b, magicOf(s.Kept)...), nil
}

// magicOf returns the last bytes of the footer.
func magicOf(kept bool) string {
	if kept {
		return footerKept
	}
	return footerMagic
}

// Both are Corrupt to callers of the package.
var (
	errNoFooter  = errors.New("no footer at the end: the piece was never sealed, or was cut")
	errBadFooter = errors.New("the footer's checksum or content is wrong")
)

// parseFooter reads the footer at the end of tail, which are the last bytes of a file of fileSize
// bytes: at least footerMax of them, or all. It trusts nothing it reads.
func parseFooter(tail []byte, fileSize int64) (hemera.PieceStat, error) {
	var s hemera.PieceStat
	le := binary.LittleEndian
	if len(tail) < headSize+trailerSize {
		return s, errNoFooter
	}
	magic := string(tail[len(tail)-8:])
	if magic != footerMagic && magic != footerKept {
		return s, errNoFooter
	}
	trailer := tail[len(tail)-trailerSize:]
	// The length is read before the CRC is checked, as it says where the CRC begins: it must not lead out of tail.
	length := int64(le.Uint32(trailer))
	if length < headSize+trailerSize || length > min(int64(len(tail)), footerMax) {
		return s, errBadFooter
	}
	b := tail[int64(len(tail))-length:]
	if checksum.CRC32C(b[:length-12]) != le.Uint32(trailer[8:]) {
		return s, errBadFooter
	}
	// The CRC comes first: a version that is not known is an answer only if its bits are good.
	version := le.Uint16(trailer[4:])
	if version != footerPlain && version != footerOwned {
		return s, fmt.Errorf("the piece has format %d; this program knows %d and %d", version, footerPlain, footerOwned)
	}
	s, err := parseFooterBody(b[:length-trailerSize], fileSize-length, version == footerOwned)
	if err == nil {
		s.Kept = magic == footerKept
	}
	return s, err
}

// parseFooterBody reads what lies between the start of the footer, which is at offset at, and the trailer.
func parseFooterBody(b []byte, at int64, owned bool) (hemera.PieceStat, error) {
	le := binary.LittleEndian
	s := hemera.PieceStat{
		ID:       hemera.PieceID{File: hemera.FileID(le.Uint64(b)), Gen: hemera.Generation(le.Uint64(b[8:])), Index: b[16]},
		Layout:   hemera.Layout{Data: b[18], Pieces: b[19], BlockSize: le.Uint32(b[20:])},
		Size:     int64(le.Uint64(b[24:])),
		FileSize: int64(le.Uint64(b[32:])),
		Sealed:   time.Unix(0, int64(le.Uint64(b[40:]))),
	}
	s.Layout.SetKindByte(b[17])
	pathLen, sums := int(le.Uint16(b[48:])), int(b[50])
	b = b[headSize:]
	// The footer must begin where a piece of that size has it: a file that was cut and grown again fails here.
	if s.Size < 0 || s.Size > hemera.FileSizeMax || footerOff(s.Size) != at ||
		s.FileSize < 0 || s.FileSize > hemera.FileSizeMax || pathLen > len(b) || pathLen > hemera.PathMax || sums > sumsMax {
		return hemera.PieceStat{}, errBadFooter
	}
	s.Path, b = string(b[:pathLen]), b[pathLen:]
	for range sums {
		if len(b) == 0 || !hemera.ChecksumKind(b[0]).Valid() || len(b)-1 < hemera.ChecksumKind(b[0]).Size() {
			return hemera.PieceStat{}, errBadFooter
		}
		kind := hemera.ChecksumKind(b[0])
		c, err := hemera.MakeChecksum(kind, b[1:1+kind.Size()])
		if err != nil {
			return hemera.PieceStat{}, errBadFooter
		}
		s.Checksums = append(s.Checksums, c)
		b = b[1+kind.Size():]
	}
	if owned && len(b) == ownerSize {
		s.Owner = &hemera.FileOwner{UID: le.Uint32(b), GID: le.Uint32(b[4:]), Mode: uint32(le.Uint16(b[8:]))}
		b = nil
	} else if owned {
		return hemera.PieceStat{}, errBadFooter
	}
	if len(b) != 0 { // a later format would have another version
		return hemera.PieceStat{}, errBadFooter
	}
	return s, nil
}
