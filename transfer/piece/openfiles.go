package piece

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/hemera"
)

// sampleMin is the shortest time that a rate is taken over. A question that comes sooner gets the previous rate.
const sampleMin = 500 * time.Millisecond

// OpenFiles is the files that are open. The zero value is empty. It is safe for concurrent use.
type OpenFiles struct {
	mu   sync.Mutex
	open map[*Usage]struct{}
}

// Usage is one open file. Reads and writes add to Bytes without a lock, and Disk is where a reader reads now; 0 if that
// is not known.
type Usage struct {
	Bytes atomic.Int64
	Disk  atomic.Uint32

	// Set by Begin, before others see the usage.
	cap   *hemera.Capability // not to be changed
	since time.Time

	// Guarded by OpenFiles.mu: when the rate was taken last, and of how many bytes.
	sampled time.Time
	counted int64
	rate    float64
}

// Begin notes that a file was opened. The usage is part of what is open, so nothing is allocated but
// the place in the table.
func (u *OpenFiles) Begin(use *Usage, c *hemera.Capability, now time.Time) {
	use.cap, use.since, use.sampled = c, now, now
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open == nil {
		u.open = map[*Usage]struct{}{}
	}
	u.open[use] = struct{}{}
}

// End notes that it was closed; what was never noted is no error.
func (u *OpenFiles) End(use *Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, use)
}

// List returns at most limit of the open files, those that move most first.
func (u *OpenFiles) List(limit int) []hemera.OpenFile {
	now := time.Now()
	u.mu.Lock()
	list := make([]hemera.OpenFile, 0, len(u.open))
	for use := range u.open {
		list = append(list, use.describe(now))
	}
	u.mu.Unlock()
	slices.SortFunc(list, func(a, b hemera.OpenFile) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Path, b.Path), a.Since.Compare(b.Since))
	})
	return slices.Clip(list[:min(len(list), limit)])
}

// describe takes a new rate if it is time for one. The caller holds the lock of the table.
func (use *Usage) describe(now time.Time) hemera.OpenFile {
	c := use.cap
	bytes := use.Bytes.Load()
	// Two admins who watch the same node share the samples; neither gets a rate over too short a time.
	if took := now.Sub(use.sampled); took >= sampleMin {
		use.rate = float64(bytes-use.counted) / took.Seconds()
		use.sampled, use.counted = now, bytes
	}
	f := hemera.OpenFile{
		Who: c.Who, Path: c.Path, File: c.File, Write: c.Access != hemera.AccessRead,
		Since: use.since, Bytes: bytes, Rate: use.rate,
	}
	// A reader is at one disk; a writer is at all of its targets.
	if d := hemera.DiskID(use.Disk.Load()); d != 0 {
		f.Disks = []hemera.DiskID{d}
		return f
	}
	for _, t := range c.Targets {
		f.Disks = append(f.Disks, t.Disk)
	}
	return f
}
