package tapelabels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/adler32"
	"strconv"
	"strings"
)

// Archive ids from containerFirst to indexFirst are those of containers, from indexFirst on those of index files.
const (
	containerFirst = 1 << 62
	indexFirst     = 1 << 63
)

const labelSize = 80

// File is a file of a tape. Several of them may be in one tape file, which is a container then.
type File struct {
	FSeq      uint64 `json:"fSeq"`
	Member    int    `json:"member,omitempty"` // its number in a container; 0 is a tape file
	BlockID   int    `json:"blockId"`          // the object at which its tape file begins; 0 for the first one
	ArchiveID uint64 `json:"archiveId,string"`
	Blocks    int    `json:"blocks"` // of its tape file
	Size      int    `json:"size"`
	Adler32   string `json:"adler32"`
	Content   []byte `json:"-"`
}

// Tape is all that was read of a tape.
type Tape struct {
	VID   string
	Files []File
	// Rest is the reason for which reading ended before the end of the tape. A kill leaves an unfinished file behind the last one that counts. Nil if all was read.
	Rest error
}

// Read reads all files, until one is not whole.
func Read(objects []Object) (t Tape) {
	r := reader{objects: objects}
	vol1, err := r.label(0, "VOL1")
	if err == nil && (vol1[79] != '3' || strings.TrimSpace(vol1[10:37]+vol1[51:77]) != "") {
		err = fmt.Errorf("VOL1 is not that of the format: %q", vol1)
	}
	if err != nil {
		t.Rest = err
		return t
	}
	t.VID = vol1[4:10]
	for at := 1; at < len(objects); {
		if l, err := r.label(at, "HDR1"); err == nil && strings.TrimSpace(l[4:21]) == "PRELABEL" {
			break // the end of a tape to which nothing was written since it was labelled
		}
		f, next, err := r.file(t.VID, at)
		if err != nil {
			t.Rest = err
			break
		}
		t.Files = append(append(t.Files, f), f.members()...)
		at = next
	}
	return t
}

// reader finds labels among objects.
type reader struct{ objects []Object }

// label returns the label at an object.
func (r reader) label(at int, name string) (string, error) {
	if at >= len(r.objects) || r.objects[at].Mark || len(r.objects[at].Block) != labelSize || string(r.objects[at].Block[:4]) != name {
		return "", fmt.Errorf("object %d is not %s", at, name)
	}
	return string(r.objects[at].Block), nil
}

// labels returns several labels that follow each other, and have a filemark behind them.
func (r reader) labels(at int, names ...string) (list []string, err error) {
	for i, name := range names {
		l, err := r.label(at+i, name)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	if at += len(names); at >= len(r.objects) || !r.objects[at].Mark {
		return nil, fmt.Errorf("object %d is not a filemark", at)
	}
	return list, nil
}

// file reads the tape file that begins at an object, and returns where the next one does.
func (r reader) file(vid string, begin int) (f File, next int, err error) {
	header, err := r.labels(begin, "HDR1", "HDR2", "UHL1")
	if err != nil {
		return f, 0, err
	}
	hdr1 := header[0]
	uhl1 := header[2]
	var blocks [][]byte
	at := begin + len(header) + 1
	for ; at < len(r.objects) && !r.objects[at].Mark; at++ {
		if block := r.objects[at].Block; len(block) == 0 || len(block) > number(uhl1[14:24]) {
			return f, 0, fmt.Errorf("block %d has %d bytes", at, len(block))
		}
		blocks = append(blocks, r.objects[at].Block)
	}
	trailer, err := r.labels(at+1, "EOF1", "EOF2", "UTL1")
	if err != nil {
		return f, 0, err
	}
	eof1, utl1 := trailer[0], trailer[2]
	f.FSeq = uint64(number(uhl1[4:14]))
	if hdr1[4:54] != eof1[4:54] || uhl1[4:] != utl1[4:] || hdr1[21:27] != vid || number(eof1[54:60]) != len(blocks)%1_000_000 ||
		uint64(number(hdr1[31:35])) != f.FSeq%10_000 {
		return f, 0, fmt.Errorf("the labels of the file at object %d contradict each other", begin)
	}
	if f.ArchiveID, err = strconv.ParseUint(strings.TrimSpace(hdr1[4:21]), 16, 64); err != nil {
		return f, 0, err
	}
	if begin > 1 {
		f.BlockID = begin
	}
	f.Blocks = len(blocks)
	f.hold(bytes.Join(blocks, nil))
	return f, at + 1 + len(trailer) + 1, nil
}

// hold sets the content.
func (f *File) hold(content []byte) {
	f.Content, f.Size, f.Adler32 = content, len(content), fmt.Sprintf("%08x", adler32.Checksum(content))
}

// number returns the number in a label's field; -1 if it has none.
func number(field string) int {
	n, err := strconv.Atoi(strings.TrimSpace(field))
	if err != nil {
		return -1
	}
	return n
}

// members returns the files in a container, by its table, which is lines of JSON in front of their contents. A file whose checksum is another one is
// left out.
func (f File) members() (list []File) {
	if f.ArchiveID < containerFirst || f.ArchiveID >= indexFirst {
		return nil
	}
	lines := bytes.Split(f.Content, []byte("\n"))
	var head struct{ Data int }
	if json.Unmarshal(lines[0], &head) != nil {
		return nil
	}
	for _, line := range lines[1:] {
		var record struct {
			End          json.RawMessage
			Offset, Size int
			Member       int
			ArchiveID    string
			Checksums    []string
		}
		if json.Unmarshal(line, &record) != nil || record.End != nil {
			return list
		}
		m := File{FSeq: f.FSeq, Member: record.Member, BlockID: f.BlockID, Blocks: f.Blocks}
		at := head.Data + record.Offset
		if at < 0 || record.Size < 0 || at > len(f.Content) || record.Size > len(f.Content)-at {
			continue
		}
		m.hold(f.Content[at : at+record.Size])
		m.ArchiveID, _ = strconv.ParseUint(record.ArchiveID, 10, 64)
		for _, sum := range record.Checksums {
			if sum == "adler32:"+m.Adler32 {
				list = append(list, m)
			}
		}
	}
	return list
}
