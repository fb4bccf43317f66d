package simtape

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// objects are the blocks of a cartridge in order; nil is a filemark.
func objects(dir, vid string) (out [][]byte, err error) {
	base := filepath.Join(dir, "cartridges", vid+"L9")
	index, err := os.ReadFile(base + ".index")
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(base + ".data")
	if err != nil {
		return nil, err
	}
	for ; len(index) >= recordBytes; index = index[recordBytes:] {
		if index[0] == 2 {
			out = append(out, nil)
			continue
		}
		length, stored, at := binary.LittleEndian.Uint32(index[4:]), binary.LittleEndian.Uint32(index[8:]), binary.LittleEndian.Uint64(index[32:])
		if index[0] != 1 || length != stored || at+uint64(stored) > uint64(len(data)) {
			return nil, fmt.Errorf("object %d has no bytes", len(out))
		}
		out = append(out, data[at:at+uint64(stored)])
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
	if len(all) == 0 || !bytes.HasPrefix(all[0], []byte("VOL1"+vid)) {
		return nil, fmt.Errorf("it does not begin with its label")
	}
	files = map[uint64]File{}
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
	if f.Block = uint64(at); at == 1 {
		f.Block = 0
	}
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
	end := f
	if err := labels(&end, trailer, vid, "EOF1", "EOF2", "UTL1"); err != nil {
		return f, at, err
	}
	if end.FSeq != f.FSeq || end.ArchiveID != f.ArchiveID {
		return f, at, fmt.Errorf("header and trailer contradict each other")
	}
	f.Data = bytes.Join(data, nil)
	if f.ArchiveID == 1<<62+f.FSeq {
		f.Members, err = members(f.Data)
	}
	return f, at, err
}

// labels reads what three labels say of a tape file.
func labels(f *File, blocks [][]byte, vid string, names ...string) (err error) {
	for i, name := range names {
		if i >= len(blocks) || len(blocks[i]) != 80 || string(blocks[i][:4]) != name {
			return fmt.Errorf("there is no %s", name)
		}
	}
	if string(blocks[0][21:27]) != vid {
		return fmt.Errorf("the file is of tape %s", blocks[0][21:27])
	}
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
	for i, line := range bytes.SplitAfter(data, []byte("\n")) {
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
		from := head.Data + m.Offset
		if from+m.Size > int64(len(data)) {
			return nil, fmt.Errorf("member %d ends behind its container", m.Number)
		}
		m.Data = data[from : from+m.Size]
		out = append(out, m)
	}
	return nil, fmt.Errorf("the table of the container has no end")
}
