package volume

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"hemera/rules/checksum"
	"hemera/words/errs"
)

// Index files and tables of containers are text: a head, one record a line, and an end with a checksum of everything before it. All three are
// JSON, so that a tape can be read with what every machine has.

// head is the first line.
type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	VID     string `json:"vid"`
	FSeq    uint64 `json:"fSeq"` // of the tape file that it is in
	// First is the first file that an index lists, and the last one is that before FSeq. The file before First is an index too, unless the
	// session that wrote it was cut.
	First uint64 `json:"first,omitempty"`
	// Data is the offset of the data of a container, in bytes from its beginning.
	Data int64 `json:"data,omitempty"`

	length int64 // of the text that was read, in bytes
}

// end is the last line. CRC32C is of all lines before it.
type end struct {
	End    bool   `json:"end"`
	Count  int    `json:"count"`
	CRC32C string `json:"crc32c"`
}

// Names and version of the two formats.
const (
	formatIndex     = "hemera tape index"
	formatContainer = "hemera tape container"
	formatVersion   = 1
	// lineMax bounds a line; a path has at most 64 KiB.
	lineMax = 256 << 10
)

// line returns one JSON text with its newline.
func line(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // impossible: the types here have no value that JSON lacks
		return []byte("{}\n")
	}
	return append(b, '\n')
}

// endLine closes a text.
func endLine(text []byte, count int) []byte {
	return line(end{End: true, Count: count, CRC32C: fmt.Sprintf("%08x", checksum.CRC32C(text))})
}

// parseLines reads a text up to its end line; what follows is not looked at. It fails with Corrupt if the text was cut or changed.
func parseLines(r io.Reader, format string) (h head, records []Record, err error) {
	bad := func(why string, cause error) error {
		return &errs.Error{Kind: errs.Corrupt, Op: "volume.Parse", Subject: format, Text: why, Cause: cause}
	}
	// ReadSlice keeps one line in memory, and fails on a longer one.
	in := bufio.NewReaderSize(r, lineMax)
	sum := uint32(0)
	for n := 0; ; n++ {
		b, err := in.ReadSlice('\n')
		if err != nil {
			return h, nil, bad(fmt.Sprintf("it is cut in line %d", n+1), err)
		}
		h.length += int64(len(b))
		switch {
		case n == 0:
			if err := json.Unmarshal(b, &h); err != nil || h.Format != format {
				return h, nil, bad("its first line is not that of the format", err)
			}
			if h.Version != formatVersion {
				return h, nil, errs.New(errs.Unsupported, "volume.Parse", format, fmt.Sprintf("it has version %d", h.Version)).
					WithRemedy("read the tape with a newer version of Hemera")
			}
			// A record begins with its kind, so no path can look like an end.
		case bytes.HasPrefix(b, []byte(`{"end":true,`)):
			var e end
			if err := json.Unmarshal(b, &e); err != nil || e.Count != len(records) || e.CRC32C != fmt.Sprintf("%08x", sum) {
				return h, nil, bad("its checksum is wrong", err)
			}
			return h, records, nil
		default:
			var rec Record
			if err := json.Unmarshal(b, &rec); err != nil {
				return h, nil, bad(fmt.Sprintf("line %d", n+1), err)
			}
			records = append(records, rec)
		}
		// The end line is not part of the sum that it has.
		sum = checksum.UpdateCRC32C(sum, b)
	}
}
