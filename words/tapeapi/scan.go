package tapeapi

import (
	"time"

	"hemera/words/hemera"
)

// ScanResults has the files that a scan found. Files come in the order from the end of the tape to its beginning.
type ScanResults struct {
	Files []Scanned
	End   End
	// Complete: the scan has reached the beginning of the tape, and End.Bytes counts all of it.
	Complete bool
	Blank    bool // nothing was ever written to it, a label neither
}

// End is the last tape file of a tape, and how much is written up to its end. All of it is zero for a tape without files.
type End struct {
	FSeq      uint64
	ArchiveID uint64
	Bytes     int64 // with labels; 0 before that is known
}

// Scanned is a file that a scan found on a tape.
type Scanned struct {
	Written Written
	File    hemera.FileID
	Path    string // "" where only labels tell of it
	Sums    []hemera.Checksum
	Owner   hemera.FileOwner
	Mtime   time.Time
	Class   string
	Copy    uint8
}

// Outcome says what became of a file that a scan found on a tape. The texts are those of the admin API.
type Outcome string

// The outcomes.
const (
	TookKnown   Outcome = "known"   // the catalogue had it already
	TookCopy    Outcome = "copy"    // a file that was there has one copy more
	TookMade    Outcome = "made"    // a new file, at its path
	TookLost    Outcome = "lost"    // a new file in /lost+found/tape: the tape tells no path, or none that it can have
	TookDead    Outcome = "dead"    // no file, but it can be undeleted
	TookDiffers Outcome = "differs" // the catalogue has something else at this place of the tape: nothing was changed
	TookNot     Outcome = "not"     // nothing can be made of what the tape tells: nothing was changed
)

// Taken is one file that a scan found.
type Taken struct {
	Outcome   Outcome
	FSeq      uint64
	Member    uint32 `json:",omitempty"`
	ArchiveID uint64
	Size      int64
	Path      string `json:",omitempty"` // that the tape tells
	Why       string `json:",omitempty"`
}
