package tapeapi

import (
	"time"

	"hemera/words/hemera"
)

// JobKind says what is to be done with a file and a tape. The numbers are stored.
type JobKind uint8

// The kinds of jobs.
const (
	Archive JobKind = 1 // write a copy of a file on disk to a tape of a pool
	Recall  JobKind = 2 // bring a file from a tape to disk
	Verify  JobKind = 3 // read a copy and compare its checksum
	Repack  JobKind = 4 // write a copy again to another tape, in place of one
	// Of sessions only; no job is of these kinds.
	Scanning  JobKind = 5 // read what is on a tape into the catalogue
	Labelling JobKind = 6 // write the label of a tape
	ReadBack  JobKind = 7 // read what a session wrote, before disk copies go that count on it
)

// String returns the name in tables.
func (k JobKind) String() string {
	switch k {
	case Archive:
		return "archive"
	case Recall:
		return "recall"
	case Verify:
		return "verify"
	case Repack:
		return "repack"
	case Scanning:
		return "scan"
	case Labelling:
		return "label"
	case ReadBack:
		return "read back"
	}
	return "unknown"
}

// JobKey names a job: there is one at most of a kind for a copy of a file.
type JobKey struct {
	File hemera.FileID
	Kind JobKind
	Copy uint8 // number of the copy; of a recall that of the copy that is read
}

// Job is work that waits for a tape, or is done by a mount. It is durable until it is done or cancelled.
type Job struct {
	JobKey
	ArchiveID uint64
	Queue     string // the tape pool to write to, or the VID to read from
	Size      int64
	UID       uint32 // who asked; of archives the owner of the file
	Asked     time.Time
	Activity  string           `json:",omitempty"` // as a request named it
	Policy    string           `json:",omitempty"` // name of the mount policy, from when it was queued; "" for jobs of before: by the user
	From      *hemera.TapeCopy `json:",omitempty"` // what is read; nil of archives
	Attempts  int              `json:",omitempty"`
	Error     string           `json:",omitempty"` // of the last attempt
	// Waits is the reason for which the job was put off without an attempt that failed.
	Waits string `json:",omitempty"`
	// After is the time from which the next attempt may begin; zero: now.
	After time.Time `json:",omitzero"`
	// Failed jobs are not tried again until an admin asks for it.
	Failed bool   `json:",omitempty"`
	Seq    uint64 // in the order of asking, within the queue
}

// Work is a job with what is needed to do it.
type Work struct {
	Job
	Path     string
	Checksum []hemera.Checksum // of the content
	Owner    hemera.FileOwner  // of the file; UID of the job is who asked
	Mtime    time.Time
	Class    string
}
