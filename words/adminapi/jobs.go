package adminapi

import (
	"time"

	"hemera/words/hemera"
)

// JobStatus is one drain or repair of one disk, the balancing of one space, or one conversion of a tree.
type JobStatus struct {
	Kind                 string        // drain, repair, heal, balance, convert, lifecycle
	Disk                 hemera.DiskID // 0 for a job of the whole cluster, of a space or of a tree
	Space                string        `json:",omitempty"` // of balance
	Path                 string        `json:",omitempty"` // of the file or directory that a job without a disk is about
	To                   string        `json:",omitempty"` // the form that a conversion makes
	State                string        // waiting, running, stalled; over: done, and of conversions failed, stopped or "replaced by N"
	Why                  string        // what it waits for, or what failed last
	FilesDone, FilesLeft int64
	BytesDone, BytesLeft int64
	Failed               int64   // in the pass under way; they are tried again in the next
	Rate                 float64 // bytes per second now
	Started              time.Time
	Remaining            time.Duration // estimate; 0 unknown
}

// Over reports whether nothing is done for the job any more. It stays in lists for a while.
func (j JobStatus) Over() bool {
	switch j.State {
	case "", "waiting", "running", "stalled":
		return false
	}
	return true
}

// Progress is the share of the job that is done, in percent: of bytes, or of files where these have no bytes. A job with nothing to do is complete.
func (j JobStatus) Progress() float64 {
	done, left := j.BytesDone, j.BytesLeft
	if done+left <= 0 {
		done, left = j.FilesDone, j.FilesLeft
	}
	if left <= 0 {
		return 100
	}
	return 100 * float64(done) / float64(done+left)
}

// Subject is what the job is about, as all outputs name it: "disk 3", "space ssd", "/exp to layout=rs:4+2".
func (j JobStatus) Subject() string {
	switch {
	case j.Kind == "heal":
		return "bad pieces"
	case j.Path != "" && j.To != "":
		return j.Path + " to " + j.To
	case j.Path != "":
		return j.Path
	case j.Space != "":
		return "space " + j.Space
	case j.Disk == 0: // the repair of files that were never complete
		return "incomplete files"
	}
	return "disk " + j.Disk.String()
}

// Title is the job in the words of all outputs: "repair of disk 3".
func (j JobStatus) Title() string {
	kind := j.Kind
	if kind == "heal" { // the metrics' name for the repair of single pieces
		kind = "repair"
	}
	return kind + " of " + j.Subject()
}
