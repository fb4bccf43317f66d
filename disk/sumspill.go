package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
)

// spillRecord is a table block with its dirty bits and a CRC32C over both.
const spillRecord = 4*blockSums + 8*((blockSums+63)/64) + 4

// sumSpill is the side file of a pending piece: record i, at i*spillRecord, is table block i. It is
// made when the first block does not stay in memory, and has a name only while it is made: it dies
// with the Writer, and a Writer that lost its piece cannot take away that of its successor.
type sumSpill struct {
	fs    vfs.FS
	path  string
	file  vfs.File
	saved map[int64]bool // records that hold a block
}

// save writes a block over the one of that index that may be there.
func (s *sumSpill) save(index int64, b *sumBlock) error {
	// Most pieces never need the file: their sums fit in memory.
	if s.file == nil {
		if err := s.make(); err != nil {
			return err
		}
	}
	p := make([]byte, 0, spillRecord)
	for _, v := range b.sums {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	for _, v := range b.dirty {
		p = binary.LittleEndian.AppendUint64(p, v)
	}
	p = binary.LittleEndian.AppendUint32(p, checksum.CRC32C(p))
	if _, err := s.file.WriteAt(p, index*spillRecord); err != nil {
		return err
	}
	s.saved[index] = true
	return nil
}

// make makes the file and takes its name away again: it goes with the last descriptor, also after a crash.
func (s *sumSpill) make() error {
	if err := ignoreMissing(s.fs.Remove(s.path)); err != nil { // a crash left it
		return err
	}
	f, err := s.fs.Open(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	if err := s.fs.Remove(s.path); err != nil {
		return errors.Join(err, f.Close())
	}
	s.file, s.saved = f, map[int64]bool{}
	return nil
}

// load reads a block. Its CRC covers sums and dirty bits: a bit that flipped on the device must not become the checksum of
// good data.
func (s *sumSpill) load(index int64) (*sumBlock, error) {
	if !s.saved[index] {
		return nil, nil
	}
	p := make([]byte, spillRecord)
	if _, err := s.file.ReadAt(p, index*spillRecord); err != nil && err != io.EOF {
		return nil, err
	}
	// A short read leaves zeros, whose CRC does not match.
	end := spillRecord - 4
	if checksum.CRC32C(p[:end]) != binary.LittleEndian.Uint32(p[end:]) {
		return nil, &PageError{What: fmt.Sprintf("checksums of block %d, kept aside", index)}
	}
	b := &sumBlock{}
	for i := range b.sums {
		b.sums[i] = binary.LittleEndian.Uint32(p[4*i:])
	}
	for i := range b.dirty {
		b.dirty[i] = binary.LittleEndian.Uint64(p[4*blockSums+8*i:])
	}
	return b, nil
}

// has answers from memory.
func (s *sumSpill) has(index int64) bool { return s.saved[index] }

// drop forgets the blocks from index on; the file keeps its length.
func (s *sumSpill) drop(index int64) {
	for i := range s.saved {
		if i >= index {
			delete(s.saved, i)
		}
	}
}

// close ends the side file.
func (s *sumSpill) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
