package adminapi

import (
	"time"

	"hemera/words/hemera"
)

// WalkRequest asks for a tree, parents before their children and names in byte order. Conditions
// are all to be met; a zero condition asks for nothing. Entries that do not meet them are walked
// through all the same.
// A pointer that is nil asks for nothing, too.
type WalkRequest struct {
	Path  string
	Kind  hemera.EntryKind `json:",omitempty"` // files or directories only
	Name  string           `json:",omitempty"` // a pattern as in path.Match, on the last component
	Depth int              `json:",omitempty"` // at most so far below Path; 0: all, -1: Path itself only
	// Sizes apply to files alone, and with Kind KindDirectory to all that is in a directory. SizeMax is a pointer because 0 is a sensible maximum.
	SizeMin int64      `json:",omitempty"`
	SizeMax *int64     `json:",omitempty"`
	Newer   *time.Time `json:",omitempty"` // modified after
	Older   *time.Time `json:",omitempty"` // modified before
	// ChangedAfter and ChangedBefore are of the record: mode, owner, attributes, or content.
	ChangedAfter  *time.Time `json:",omitempty"`
	ChangedBefore *time.Time `json:",omitempty"`
	UID           *uint32    `json:",omitempty"`
	GID           *uint32    `json:",omitempty"`
	NotUID        *uint32    `json:",omitempty"`
	NotGID        *uint32    `json:",omitempty"`
	// Layout, Pieces and Incomplete apply to files, and leave directories out.
	Layout     string `json:",omitempty"` // its kind, or all of it: replica, replica:2
	Pieces     int    `json:",omitempty"` // the number of pieces of the layout
	Incomplete bool   `json:",omitempty"` // fewer pieces than the layout has
	// Standing asks for files of this standing. They are found from the lists of disks and tapes, not by a walk, in no order of names, and need an
	// admin.
	Standing FileStanding `json:",omitempty"`
	// Brief answers with paths alone, Count with nothing but the sum: a fraction of the work.
	Brief, Count bool `json:",omitempty"`
}

// Found is one entry of a walk, without its attributes. Err is set when a directory could not be listed, and names it: the walk
// goes on.
type Found struct {
	Path  string
	Entry hemera.Entry // zero in a brief walk
	Err   string       `json:",omitempty"`
}

// Sum has the totals of a walk. Bytes is the logical size of files, Physical the room of all their pieces on disks.
type Sum struct{ Files, Dirs, Bytes, Physical int64 }

// FoundEntries is one message of a walk: entries, paths alone, or in the end the sum.
type FoundEntries struct {
	Found []Found  `json:",omitempty"`
	Paths []string `json:",omitempty"`
	Sum   *Sum     `json:",omitempty"`
}
