package requests

import (
	"time"

	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// conversionRecord is a request to convert as it is stored, in JSON. docs/formats/cluster.md has the fields.
type conversionRecord struct {
	ID              uint64
	Path            string
	Recursive       bool
	Form            formRecord
	Root            uint64
	Who             string
	Asked, Ended    time.Time
	Pass            int
	Cursor          string
	Seen, SeenBytes int64
	Done, Bytes     int64
	Skipped, Failed int64
	Replaced        int64 `json:",omitempty"`
	Why             string
	Ending          string `json:",omitempty"`
	Left, LeftBytes int64  `json:",omitempty"`
}

// formRecord is the form of a request to convert.
type formRecord struct {
	Layout    layoutRecord
	BlockSize uint32
	Space     hemera.SpaceName
	Checksum  hemera.ChecksumKind // as its name
}

// layoutRecord is a layout, whose kind is stored as its number.
type layoutRecord struct {
	Kind      hemera.LayoutKind
	Data      uint8
	Pieces    uint8
	Local     uint8
	BlockSize uint32
}

// recordOf returns the record of a request.
func recordOf(c adminapi.Conversion) conversionRecord {
	return conversionRecord{c.ID, c.Path, c.Recursive, formRecord{layoutRecord(c.Form.Layout), c.Form.BlockSize, c.Form.Space, c.Form.Checksum}, uint64(c.Root), c.Who,
		c.Asked, c.Ended, c.Pass, c.Cursor, c.Seen, c.SeenBytes, c.Done, c.Bytes, c.Skipped, c.Failed, c.Replaced, c.Why, string(c.Ending), c.Left, c.LeftBytes}
}

// conversion returns the request of a record.
func (r conversionRecord) conversion() adminapi.Conversion {
	form := hemera.Form{Layout: hemera.Layout(r.Form.Layout), BlockSize: r.Form.BlockSize, Space: r.Form.Space, Checksum: r.Form.Checksum}
	return adminapi.Conversion{ID: r.ID, ConversionRequest: adminapi.ConversionRequest{Path: r.Path, Recursive: r.Recursive, Form: form}, Root: hemera.FileID(r.Root),
		Who: r.Who, Asked: r.Asked, Ended: r.Ended, Pass: r.Pass, Cursor: r.Cursor, Seen: r.Seen, SeenBytes: r.SeenBytes, Done: r.Done, Bytes: r.Bytes,
		Skipped: r.Skipped, Failed: r.Failed, Replaced: r.Replaced, Why: r.Why, Ending: adminapi.JobState(r.Ending), Left: r.Left, LeftBytes: r.LeftBytes}
}

// treeRecord is a directory with lifecycle rules as it is stored, in JSON.
type treeRecord struct {
	Dir     uint64
	Since   time.Time
	Scanned time.Time
	Changed time.Time    `json:",omitzero"`
	By      setterRecord `json:",omitzero"`
}

// setterRecord is the user that set the rules of a directory, or the admins.
type setterRecord struct {
	Admin bool
	UID   uint32
}

// recordOfTree returns the record of a directory with rules.
func recordOfTree(t lifecycle.Tree) treeRecord {
	return treeRecord{uint64(t.Dir), t.Since, t.Scanned, t.Changed, setterRecord(t.By)}
}

// tree returns the directory of a record.
func (r treeRecord) tree() lifecycle.Tree {
	return lifecycle.Tree{Dir: hemera.FileID(r.Dir), Since: r.Since, Scanned: r.Scanned, Changed: r.Changed, By: hemera.Setter(r.By)}
}
