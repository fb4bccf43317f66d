package adminapi

import (
	"time"

	"hemera/words/hemera"
)

// JobKind names what a job does. The texts are those of the admin API and of the metrics.
type JobKind string

// The kinds of jobs.
const (
	JobDrain     JobKind = "drain"
	JobRepair    JobKind = "repair"
	JobHeal      JobKind = "heal" // the repair of single pieces
	JobBalance   JobKind = "balance"
	JobConvert   JobKind = "convert"
	JobLifecycle JobKind = "lifecycle"
)

// JobState says how far a job is. The texts are those of the admin API, and are stored of conversions that ended.
type JobState string

// The states of jobs. Failed, stopped and replaced are states of conversions; the number of the newer request follows JobReplaced.
const (
	JobWaiting  JobState = "waiting"
	JobRunning  JobState = "running"
	JobStalled  JobState = "stalled"
	JobDone     JobState = "done"
	JobFailed   JobState = "failed"
	JobStopped  JobState = "stopped"
	JobReplaced JobState = "replaced by "
)

// JobStatus is one drain or repair of one disk, the balancing of one space, or one conversion of a tree.
type JobStatus struct {
	Kind                 JobKind
	Disk                 hemera.DiskID    // 0 for a job of the whole cluster, of a space or of a tree
	Space                hemera.SpaceName `json:",omitempty"` // of balance
	Path                 string           `json:",omitempty"` // of the file or directory that a job without a disk is about
	To                   string           `json:",omitempty"` // the form that a conversion makes
	State                JobState
	Why                  string // what it waits for, or what failed last
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
	case "", JobWaiting, JobRunning, JobStalled:
		return false
	}
	return true
}

// Progress returns the share of the job that is done, in percent: of bytes, or of files where these have no bytes. A job with nothing to do is complete.
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

// Subject returns the name of the job's subject, as all outputs have it: "disk 3", "space ssd", "/exp to layout=rs:4+2".
func (j JobStatus) Subject() string {
	switch {
	case j.Kind == JobHeal:
		return "bad pieces"
	case j.Path != "" && j.To != "":
		return j.Path + " to " + j.To
	case j.Path != "":
		return j.Path
	case j.Space != "":
		return "space " + string(j.Space)
	case j.Disk == 0: // the repair of files that were never complete
		return "incomplete files"
	}
	return "disk " + j.Disk.String()
}

// Title returns the job in the words of all outputs: "repair of disk 3".
func (j JobStatus) Title() string {
	kind := j.Kind
	if kind == JobHeal { // the metrics' name for the repair of single pieces
		kind = JobRepair
	}
	return string(kind) + " of " + j.Subject()
}
