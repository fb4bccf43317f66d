package simtape

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hemera/words/tapeapi"
)

// File is a tape file as a program finds it that knows docs/tape/format.md and docs/tape/emulated.md, and nothing of the code.
type File struct {
	FSeq, Block, ArchiveID uint64
	Data                   []byte
	// Members are the contents in a container by their archive ids; nil for other files.
	Members []Member
}

// Member is one content of a container.
type Member struct {
	ArchiveID uint64 `json:"archiveId,string"`
	Number    uint32 `json:"member"`
	Size      int64  `json:"size"`
	Offset    int64  `json:"offset"`
	Data      []byte `json:"-"`
}

// recordBytes is the size of a record in the index of a cartridge.
const recordBytes = 48

// objects returns the blocks of a cartridge in order; nil is a filemark.
func objects(dir, vid string) (out [][]byte, err error) {
	base := filepath.Join(dir, "cartridges", vid+"L9")
	index, err := os.ReadFile(base + ".index")
	if err != nil {
		return nil, err
	}
	// Small enough to be read as a whole: cartridges of a simulation have some megabytes.
	data, err := os.ReadFile(base + ".data")
	if err != nil {
		return nil, err
	}
	for ; len(index) >= recordBytes; index = index[recordBytes:] {
		// Kind 2 is a filemark, kind 1 a block. Anything else is damage.
		if index[0] == 2 {
			out = append(out, nil)
			continue
		}
		block, err := blockOf(index[:recordBytes], data)
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", len(out), err)
		}
		out = append(out, block)
	}
	return out, nil
}

// repeated is the flag of a block in which each page of 4 KiB repeats one byte. The cartridge stores one byte for each page then.
const repeated, page = 8, 4096

// blockOf returns the bytes of a block, by its record. Blocks here are neither encrypted nor thrown away.
func blockOf(record, data []byte) ([]byte, error) {
	// Little endian.
	length, stored, at := binary.LittleEndian.Uint32(record[4:]), binary.LittleEndian.Uint32(record[8:]), binary.LittleEndian.Uint64(record[32:])
	if record[0] != 1 || at+uint64(stored) > uint64(len(data)) {
		return nil, errors.New("it has no bytes")
	}
	block := data[at : at+uint64(stored)]
	if record[1]&repeated == 0 {
		if length != stored {
			return nil, fmt.Errorf("%d of its %d bytes are stored", stored, length)
		}
		return block, nil
	}
	if (length+page-1)/page != stored {
		return nil, fmt.Errorf("%d pages are stored of its %d bytes", stored, length)
	}
	out := make([]byte, 0, length)
	for _, b := range block {
		out = append(out, bytes.Repeat([]byte{b}, min(page, int(length)-len(out)))...)
	}
	return out, nil
}

// Read reads a cartridge up to a number of tape files, which the catalogue has. What stands behind them may be anything.
func Read(dir, vid string, count uint64) (files map[uint64]File, err error) {
	if count == 0 {
		return nil, nil
	}
	all, err := objects(dir, vid)
	if err != nil {
		return nil, err
	}
	// Without its label a cartridge is nobody's.
	if len(all) == 0 || !bytes.HasPrefix(all[0], []byte("VOL1"+vid)) {
		return nil, fmt.Errorf("it does not begin with its label")
	}
	files = map[uint64]File{}
	// Behind VOL1, one file after the other: numbers have no gaps.
	for at := 1; uint64(len(files)) < count; {
		f, next, err := readFile(all, at, vid)
		if err != nil {
			return files, fmt.Errorf("tape file %d of %d, at object %d of %d: %w", len(files)+1, count, at, len(all), err)
		}
		if f.FSeq != uint64(len(files)+1) {
			return files, fmt.Errorf("tape file %d stands where %d should", f.FSeq, len(files)+1)
		}
		files[f.FSeq], at = f, next
	}
	return files, nil
}

// readFile reads the tape file whose header is at an object, and returns what object follows its trailer.
func readFile(all [][]byte, at int, vid string) (f File, next int, err error) {
	// part returns the objects up to the next filemark.
	part := func() (p [][]byte, err error) {
		for ; at < len(all) && all[at] != nil; at++ {
			p = append(p, all[at])
		}
		if at >= len(all) {
			return p, fmt.Errorf("the tape ends")
		}
		at++
		return p, nil
	}
	// The first file is at block 0 to catalogues, though object 0 is VOL1.
	if f.Block = uint64(at); at == 1 {
		f.Block = 0
	}
	// Header, data and trailer, each with a filemark behind it.
	header, err := part()
	if err != nil {
		return f, at, err
	}
	data, err := part()
	if err != nil {
		return f, at, err
	}
	trailer, err := part()
	if err != nil {
		return f, at, err
	}
	if err := labels(&f, header, vid, "HDR1", "HDR2", "UHL1"); err != nil {
		return f, at, err
	}
	// The trailer says the same again; a drive that overwrote half of a file would contradict itself.
	end := f
	if err := labels(&end, trailer, vid, "EOF1", "EOF2", "UTL1"); err != nil {
		return f, at, err
	}
	if end.FSeq != f.FSeq || end.ArchiveID != f.ArchiveID {
		return f, at, fmt.Errorf("header and trailer contradict each other")
	}
	// Blocks may have any size; only their order counts.
	f.Data = bytes.Join(data, nil)
	// The number of a container is reserved: 2 to the 62nd and its place.
	if f.ArchiveID == 1<<62+f.FSeq {
		f.Members, err = members(f.Data)
	}
	return f, at, err
}

// labels reads what three labels say of a tape file.
func labels(f *File, blocks [][]byte, vid string, names ...string) (err error) {
	for i, name := range names {
		// Labels are 80 bytes of ASCII that begin with their names.
		if i >= len(blocks) || len(blocks[i]) != 80 || string(blocks[i][:4]) != name {
			return fmt.Errorf("there is no %s", name)
		}
	}
	if string(blocks[0][21:27]) != vid {
		return fmt.Errorf("the file is of tape %s", blocks[0][21:27])
	}
	// Hexadecimal in HDR1, decimal in UHL1, both filled with spaces or zeros.
	if f.ArchiveID, err = strconv.ParseUint(strings.TrimSpace(string(blocks[0][4:21])), 16, 64); err == nil {
		f.FSeq, err = strconv.ParseUint(string(blocks[2][4:14]), 10, 64)
	}
	return err
}

// members reads the table of a container, and the contents that it lists.
func members(data []byte) (out []Member, err error) {
	var head struct {
		Data int64 `json:"data"`
	}
	// A head, a line for each member, an end.
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
		// What follows the end is padding, and then the members.
		if bytes.HasPrefix(line, []byte(`{"end":true`)) {
			return out, nil
		}
		if i == 0 {
			if err := json.Unmarshal(line, &head); err != nil {
				return nil, err
			}
			continue
		}
		var m Member
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, err
		}
		// Offsets count from the end of the table.
		from := head.Data + m.Offset
		if from+m.Size > int64(len(data)) {
			return nil, fmt.Errorf("member %d ends behind its container", m.Number)
		}
		m.Data = data[from : from+m.Size]
		out = append(out, m)
	}
	return nil, fmt.Errorf("the table of the container has no end")
}

// Differs says what is wrong with a tape file, by its row in the catalogue; good says whether bytes are those of the row's content. A tape
// file that is not there is the zero File, and has neither the number nor the bytes.
func (f File) Differs(row tapeapi.File, good func([]byte) bool) string {
	id, data := f.ArchiveID, f.Data
	// A member's row has the place of its container, and the number of its content.
	if row.Member > 0 {
		i := slices.IndexFunc(f.Members, func(m Member) bool { return m.Number == row.Member })
		if i < 0 {
			return "there is no such member"
		}
		id, data = f.Members[i].ArchiveID, f.Members[i].Data
	}
	switch {
	case f.Block != row.Block:
		return fmt.Sprintf("it is at block %d, not %d", f.Block, row.Block)
	case id != row.ArchiveID:
		return fmt.Sprintf("it has archive id %d", id)
	case !good(data):
		return fmt.Sprintf("its %d bytes are not those that were written", len(data))
	}
	return ""
}
