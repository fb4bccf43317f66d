package tier

import (
	"slices"

	"hemera/tape/mounting"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// spreadFrom is the mean size from which on files are spread over disks:
// of smaller ones a session reads several at a time.
const spreadFrom = 64 << 20

// spread orders large files to archive so that the session reads other
// disks than those beside it. disks is where each file is.
func (t *giver) spread(m *mount, jobs []tapeapi.Work, disks map[hemera.FileID]hemera.DiskID) {
	reads := make([]mounting.Read, len(jobs))
	bytes := int64(0)
	for i, j := range jobs {
		reads[i] = mounting.Read{Disk: disks[j.File], Bytes: j.Size}
		bytes += j.Size
	}
	// One that changes to small files has read its large ones when it asks.
	if bytes < spreadFrom*int64(len(jobs)) || len(jobs) == 0 {
		return
	}
	// Without the lock, as there may be thousands of files and disks.
	order := mounting.SpreadDisks(reads, t.mounts.beside(m))
	// Files wait in their order, so a copy is needed to change it.
	was := slices.Clone(jobs)
	for at, i := range order {
		jobs[at] = was[i]
	}
	t.mounts.reading(m, reads, order)
}
