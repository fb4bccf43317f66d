package disk

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// A sync of a pending piece makes its page checksums durable with its bytes, in a file beside it: else the bytes would be there
// after the end of the process, and nothing would prove them. docs/formats/piece.md has the bytes.
//
// A place in the file has what the sync before said until the next one is through: each block, and the header, has two
// places, and a sync writes the older one. The header is written when all else is durable. So a sync writes blocks that
// changed, has one fsync beside that of the data and a short one behind it, and what the newest header says is true after a crash.

const (
	syncedMagic = "HemSynce"
	// syncedHeader is magic, sequence number, since, size and CRC32C, in bytes.
	syncedHeader = 8 + 8 + 8 + 8 + 4
	// syncedRecord is sequence number, sums and CRC32C. Places are whole pages of file systems, which may be torn on their own.
	syncedRecord = 8 + 4*blockSums + 4
	syncedPlace  = 8192
)

// syncedState has the fields of a header.
type syncedState struct {
	seq   uint64 // of the sync
	since uint64 // blocks of syncs before it do not count
	size  int64  // of the data
}

// syncedSums is the file of one pending piece. Its methods are called with the writer's io had alone, but for sync.
type syncedSums struct {
	fs    vfs.FS
	path  string
	file  vfs.File // nil before the first sync
	state syncedState
	whole bool   // the next sync writes all blocks
	skips uint64 // numbers of syncs that a crash may have cut short
}

// headerPlace returns the offset of the header of a sync, recordPlace that of one of the two records of a block.
func headerPlace(seq uint64) int64           { return int64(seq%2) * syncedPlace }
func recordPlace(block int64, i int64) int64 { return (2 + 2*block + i) * syncedPlace }

// make makes the file, over one that a crash left.
func (s *syncedSums) make() error {
	if err := ignoreMissing(s.fs.Remove(s.path)); err != nil {
		return err
	}
	f, err := s.fs.Open(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err == nil {
		s.file, s.whole, s.state = f, true, syncedState{}
	}
	return err
}

// sync makes the saved records durable.
func (s *syncedSums) sync() error { return s.file.Sync() }

// commit makes a header durable, as the end of a sync.
func (s *syncedSums) commit(st syncedState) error {
	if err := s.writeHeader(st); err != nil {
		return err
	}
	return s.file.Sync()
}

// close ends the use of the file, and takes its name away if the piece has its end.
func (s *syncedSums) close(remove bool) error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if remove {
		err = errors.Join(err, ignoreMissing(s.fs.Remove(s.path)))
	}
	return err
}

// header reads the header in a place. It returns false if the place has no valid header.
func (s *syncedSums) header(place uint64) (st syncedState, ok bool, err error) {
	var p [syncedHeader]byte
	if _, err := s.file.ReadAt(p[:], headerPlace(place)); err != nil && err != io.EOF {
		return st, false, err
	}
	end := syncedHeader - 4
	if string(p[:8]) != syncedMagic || checksum.CRC32C(p[:end]) != binary.LittleEndian.Uint32(p[end:]) {
		return st, false, nil
	}
	st = syncedState{binary.LittleEndian.Uint64(p[8:]), binary.LittleEndian.Uint64(p[16:]), int64(binary.LittleEndian.Uint64(p[24:]))}
	return st, st.seq%2 == place && st.since <= st.seq && st.size >= 0 && st.size <= hemera.FileSizeMax, nil
}

// newest returns the fields of the newest header; its number is 0 if no header is valid.
func (s *syncedSums) newest() (newest syncedState, err error) {
	for place := range uint64(2) {
		st, ok, err := s.header(place)
		if err != nil {
			return newest, err
		}
		if ok && st.seq > newest.seq {
			newest = st
		}
	}
	return newest, nil
}

// writeHeader writes the header of a sync.
func (s *syncedSums) writeHeader(st syncedState) error {
	p := append(make([]byte, 0, syncedHeader), syncedMagic...)
	for _, v := range []uint64{st.seq, st.since, uint64(st.size)} {
		p = binary.LittleEndian.AppendUint64(p, v)
	}
	p = binary.LittleEndian.AppendUint32(p, checksum.CRC32C(p))
	_, err := s.file.WriteAt(p, headerPlace(st.seq))
	return err
}

// blockSaved is one of the two records of a block; seq is 0 if the record does not exist.
type blockSaved struct {
	seq  uint64
	sums [blockSums]uint32
}

// load reads a record.
func (b *blockSaved) load(s *syncedSums, block, i int64) error {
	var p [syncedRecord]byte
	_, err := s.file.ReadAt(p[:], recordPlace(block, i))
	if err != nil && err != io.EOF {
		return err
	}
	end := syncedRecord - 4
	if b.seq = 0; err == io.EOF || checksum.CRC32C(p[:end]) != binary.LittleEndian.Uint32(p[end:]) {
		return nil
	}
	b.seq = binary.LittleEndian.Uint64(p[:])
	for n := range b.sums {
		b.sums[n] = binary.LittleEndian.Uint32(p[8+4*n:])
	}
	return nil
}

// save writes the sums of a block, over the older of its records.
func (s *syncedSums) save(seq uint64, block int64, sums *[blockSums]uint32) error {
	var a, b blockSaved
	if s.state.seq > 0 { // else the file is empty
		if err := errors.Join(a.load(s, block, 0), b.load(s, block, 1)); err != nil {
			return err
		}
	}
	place := int64(0)
	// The newest that counts stays. One of a sync that never got its header does not.
	if a.seq <= s.state.seq && (a.seq > b.seq || b.seq > s.state.seq) {
		place = 1
	}
	p := binary.LittleEndian.AppendUint64(make([]byte, 0, syncedRecord), seq)
	for _, v := range sums {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	p = binary.LittleEndian.AppendUint32(p, checksum.CRC32C(p))
	_, err := s.file.WriteAt(p, recordPlace(block, place))
	return err
}

// removeSynced takes the name of a piece's file of checksums away.
func (t *tree) removeSynced(id hemera.PieceID) error {
	if err := t.fs.Remove(t.pendingPath(id) + syncedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// noSums saves nothing: the file of the piece has the checksums.
func noSums() error { return nil }
