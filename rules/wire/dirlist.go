package wire

import (
	"bytes"
	"strings"
)

// dirlistLead begins every listing with stat lines; clients recognise one by exactly these bytes.
const dirlistLead = ".\n0 0 0 0\n"

// AppendDirlistLead encodes the lines before the entries of a listing with stat lines.
func AppendDirlistLead(b []byte) []byte { return append(b, dirlistLead...) }

// DirEntry is one entry of a listing. Stat is nil in a listing of names. Checksum is "adler32:1a2b3c4d", "none", or "" if
// the client did not ask for it.
type DirEntry struct {
	Name     string
	Stat     *StatInfo
	Checksum string
}

// Append encodes the entry with a newline at its end. [EndDirlist] turns the last one into a NUL.
func (e DirEntry) Append(b []byte) []byte {
	b = append(append(b, e.Name...), '\n')
	if e.Stat == nil {
		return b
	}
	b = e.Stat.Append(b)
	if e.Checksum != "" {
		b = append(b, " [ "...)
		b = append(b, e.Checksum...)
		b = append(b, " ]"...)
	}
	return append(b, '\n')
}

// EndDirlist closes the last frame of a listing: its last newline becomes a NUL.
func EndDirlist(b []byte) []byte {
	if len(b) > 0 {
		b[len(b)-1] = 0
	}
	return b
}

// ParseDirlist decodes a whole listing, all its frames joined. The first lines show whether the entries have stat lines.
func ParseDirlist(body []byte) ([]DirEntry, error) {
	body = bytes.TrimRight(body, "\x00\n")
	text := string(body)
	if text == strings.TrimRight(dirlistLead, "\n") || text == "" {
		return nil, nil
	}
	rest, stats := strings.CutPrefix(text, dirlistLead)
	lines := strings.Split(rest, "\n")
	if !stats {
		entries := make([]DirEntry, len(lines))
		for i, name := range lines {
			entries[i].Name = name
		}
		return entries, nil
	}
	if len(lines)%2 != 0 {
		return nil, fail(InvalidRequest, "listing of %d lines lacks a stat line", len(lines))
	}
	entries := make([]DirEntry, 0, len(lines)/2)
	for i := 0; i < len(lines); i += 2 {
		line, sum, _ := strings.Cut(lines[i+1], " [ ")
		s, err := ParseStat([]byte(line))
		if err != nil {
			return nil, err
		}
		entries = append(entries, DirEntry{lines[i], &s, strings.TrimSuffix(sum, " ]")})
	}
	return entries, nil
}
