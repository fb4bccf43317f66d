package hemera

import "time"

// WentBack is the part of its past that a namespace does not know, because it was restored from a backup or made again. The
// zero value is a namespace that never went back, or whose admin has ended the search for what was lost.
type WentBack struct {
	Taken    time.Time // of the backup; zero if there was none
	Restored time.Time // what was done until then may be lost
	Merged   time.Time // when a rebuild ended that read all disks; zero if none has
}

// Unmerged reports whether the namespace went back, and pieces that it does not know may be all that is left of files: no rebuild
// has read all disks since.
func (w WentBack) Unmerged() bool { return !w.Restored.IsZero() && w.Merged.IsZero() }

// Text says in a sentence how far the namespace went back, and what is not sure since.
func (w WentBack) Text() string {
	from := "it was made again without a backup on " + w.Restored.UTC().Format(time.RFC3339)
	if !w.Taken.IsZero() {
		from = "it was restored on " + w.Restored.UTC().Format(time.RFC3339) + " from a backup of " + w.Taken.UTC().Format(time.RFC3339)
	}
	if w.Merged.IsZero() {
		return "the namespace went back: " + from + ", and what was written or removed between is not known; bins and lifecycle rules remove nothing until hemera ns rebuild forget"
	}
	return "the namespace went back: " + from + "; all disks were searched by " + w.Merged.UTC().Format(time.RFC3339) + ", and what no file has, is in bins, or is due by lifecycle rules is kept"
}

// Remedy returns the command that goes on.
func (w WentBack) Remedy() string {
	if w.Merged.IsZero() {
		return "hemera ns rebuild --merge makes files of the pieces that are newer; hemera fsck report --error newer -l lists them"
	}
	return "hemera ns rebuild forget ends this; before it hemera fsck report --error newer -l lists what only pieces know"
}
