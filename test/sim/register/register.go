// Package register is the oracle of a simulation: it knows what every path of a file system may hold, from what clients were told.
package register

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"hemera/words/hemera"
)

// Content names what a path holds: nothing, or certain bytes.
type Content string

// Absent is the content of a path without a file.
const Absent Content = "nothing"

// ContentOf names a content by a hash, which the oracle remembers instead of the bytes.
func ContentOf(p []byte) Content {
	sum := sha256.Sum256(p)
	// Six bytes of the hash tell some thousands of contents apart, and stay readable in a trace.
	return Content(fmt.Sprintf("%x/%d", sum[:6], len(p)))
}

// Instant orders the beginnings and ends of what clients do; never is the end of what may still
// happen.
type Instant int64

// never is the instant of what has not happened.
const never Instant = math.MaxInt64

// Change is one attempt to give a path another content. When it happened, if it did, is between
// start and end.
type Change struct {
	what       []Content // one of these
	start, end Instant   // of the oracle's clock; end is never while the outcome is open
	done       bool      // acknowledged: it happened
	// refused is the time at which it was said to have failed; a reader that begins later must not see its content. Zero:
	// it was not refused.
	refused Instant
	by      string // client and operation, for messages
}

// Oracle knows what every path may hold: reads are held against the changes that were under way or
// done when they began. It is the specification of an atomic register, told from outside.
//
// A read is right if some order of the changes explains it in which each takes effect at one instant between its beginning and
// its end (linearizability of a register). A change in doubt may take effect at any later time, or never.
type Oracle struct {
	mu    sync.Mutex           // guards everything below
	now   Instant              // of the last tick; grows with each beginning, end and read
	paths map[string][]*Change // of each path ever written, in the order in which the changes began
	forks []fork               // in order of time; only the last can be open

	contents map[generation][]*Change    // writes, by the number and the generation of what they wrote
	purged   map[hemera.FileID]bool      // what somebody wanted to be gone for good
	bases    map[hemera.FileID][]*Change // writes that change a file, or take its place wherever it is
}

// generation names one generation of a file.
type generation struct {
	file hemera.FileID
	gen  hemera.Generation
}

// fork is a time in which a manager answered that did not know all, and was replaced in the end by one that does
// not know what it was told then: nothing is promised of changes and reads that were under way in that time.
type fork struct{ from, to Instant }

// Forked begins such a time, and joined ends it.
func (o *Oracle) Forked() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	// Forks do not nest: joined comes before the next.
	o.forks = append(o.forks, fork{o.now, never})
}

// Joined forgets changes that no answer can show any more.
func (o *Oracle) Joined() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	o.forks[len(o.forks)-1].to = o.now
}

// astray reports whether some of what went on from start to end was told a manager that was replaced.
// The caller holds mu.
func (o *Oracle) astray(start, end Instant) bool {
	return slices.ContainsFunc(o.forks, func(f fork) bool { return start < f.to && end > f.from })
}

// New makes an oracle that knows no files.
func New() *Oracle {
	return &Oracle{paths: map[string][]*Change{}, contents: map[generation][]*Change{}, purged: map[hemera.FileID]bool{}, bases: map[hemera.FileID][]*Change{}}
}

// Tick returns the next instant of the oracle's clock.
// The first instant is 1, so zero can mean "not yet".
func (o *Oracle) Tick() Instant {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	return o.now
}

// Begin records that somebody is about to give the path one of the contents.
// It is called before the first request of the change: another client may see the effect before the answer arrives.
func (o *Oracle) Begin(path, by string, what ...Content) *Change {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	c := &Change{what: what, start: o.now, end: never, by: by}
	o.paths[path] = append(o.paths[path], c)
	return c
}

// Wrote records which file's generation a write makes, before its close: where the file is later, that is its content.
func (o *Oracle) Wrote(c *Change, p *hemera.Permit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// Two managers at once may give out the same number.
	k := generation{p.File, p.Gen}
	o.contents[k] = append(o.contents[k], c)
	for _, id := range []hemera.FileID{p.File, p.Replaces} {
		o.bases[id] = append(o.bases[id], c)
	}
}

// Unsure reports whether a write may still change a file, or take its place: it would follow the file to another name.
func (o *Oracle) Unsure(file hemera.FileID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open(o.bases[file])
}

// Written returns the contents that a file's generation may hold, wherever it is. It is empty for a content that no
// client wrote.
func (o *Oracle) Written(e *hemera.Entry) (what []Content) {
	o.mu.Lock()
	for _, c := range o.contents[generation{e.ID, e.Gen}] {
		what = append(what, c.what...)
	}
	o.mu.Unlock()
	// A recall gives a content another generation, and leaves it the number that it has on tape.
	if id := e.ArchiveID(); len(what) == 0 && id != 0 {
		return o.Archived(id)
	}
	return what
}

// Recalled notes that a file has a content that it had under another generation.
// After that, the content is known without what the namespace says of tapes.
func (o *Oracle) Recalled(e *hemera.Entry) {
	what := o.Written(e)
	o.mu.Lock()
	defer o.mu.Unlock()
	if k := (generation{e.ID, e.Gen}); len(o.contents[k]) == 0 {
		o.contents[k] = []*Change{{what: what, end: never, by: "a recall"}}
	}
}

// Archived returns the contents that may have a number on tape: the number of the write that made it.
func (o *Oracle) Archived(id uint64) (what []Content) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, writes := range o.contents {
		if k.gen == 1 && uint64(k.file) == id || k.gen != 1 && uint64(k.gen) == id {
			for _, c := range writes {
				what = append(what, c.what...)
			}
		}
	}
	return what
}

// Purging records that somebody is about to remove a file for good.
// Whether that happens does not matter: nothing is promised of the file any more.
func (o *Oracle) Purging(file hemera.FileID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.purged[file] = true
}

// Acknowledged lists files that were written and not purged, with who wrote them. What was told a manager that was replaced is
// left out.
func (o *Oracle) Acknowledged() map[hemera.FileID]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	files := map[hemera.FileID]string{}
	for k, writes := range o.contents {
		for _, c := range writes {
			if c.done && !o.astray(c.start, c.end) && !o.purged[k.file] {
				files[k.file] = c.by
			}
		}
	}
	return files
}

// End records how it ended: acknowledged, refused, or (neither) in doubt for ever.
// The content of a change in doubt stays possible until a later one is over.
func (o *Oracle) End(c *Change, acknowledged, refused bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	switch {
	case acknowledged:
		c.done, c.end = true, o.now
	case refused:
		c.refused = o.now
	}
}

// allowed lists what a read of the path from start to now may find, with the changes it comes from.
// The caller holds mu.
//
// A change that was acknowledged before the read began hides every change that had ended before it began itself.
func (o *Oracle) allowed(path string, start Instant) map[Content]string {
	may := map[Content]string{}
	history := o.paths[path]
	var newest Instant // the latest beginning of an acknowledged change that ended before the read began
	for _, c := range history {
		if c.done && c.end < start && !o.astray(c.start, c.end) {
			newest = max(newest, c.start)
		}
	}
	// Nothing is known to have been written, so the path may still be empty.
	if newest == 0 {
		may[Absent] = "never written"
	}
	for _, c := range history {
		// A refused write must not show to reads that begin after the refusal.
		if c.refused != 0 && c.refused < start && !o.astray(c.start, c.refused) {
			continue
		}
		if c.end < newest && !o.astray(c.start, c.end) { // else it may be for the right manager later
			continue
		}
		for _, v := range c.what {
			may[v] = c.by
		}
	}
	return may
}

// Read holds what a read found against what it may find; the answer says what is wrong, or is "".
// A read that a stale manager answered in part proves nothing, and passes.
func (o *Oracle) Read(path string, start Instant, found Content) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	may := o.allowed(path, start)
	if _, ok := may[found]; ok || o.astray(start, o.now) {
		return ""
	}
	return fmt.Sprintf("%s holds %s, which came from %s; it may hold only:%s", path, found, o.origin(found), list(may))
}

// Possible returns the contents that the path may hold now. Its reader is a client that is about to move the file.
func (o *Oracle) Possible(path string) []Content {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	return slices.Sorted(maps.Keys(o.allowed(path, o.now)))
}

// list writes contents in order, for messages.
// Sorted, so that the same failure reads the same.
func list(may map[Content]string) string {
	var b strings.Builder
	for _, v := range slices.Sorted(maps.Keys(may)) {
		fmt.Fprintf(&b, " %s (%s)", v, may[v])
	}
	return b.String()
}

// origin tells by which change a content came, for messages.
// The caller holds mu. It looks at every path, because content in the wrong place is the interesting case.
func (o *Oracle) origin(v Content) string {
	for path, history := range o.paths {
		for _, c := range history {
			if slices.Contains(c.what, v) {
				return fmt.Sprintf("%s of %s [%d,%d] done=%t refused=%d", c.by, path, c.start, c.end, c.done, c.refused)
			}
		}
	}
	return "nobody: these bytes were never written as a whole"
}

// Doubt reports whether a change of the path may still happen.
// Callers leave such paths alone: what they do next could not be told from what is under way.
func (o *Oracle) Doubt(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open(o.paths[path])
}

// open reports whether one of the changes may still happen. The caller holds mu.
// What was told a manager that was replaced may happen again for the right one.
func (o *Oracle) open(changes []*Change) bool {
	return slices.ContainsFunc(changes, func(c *Change) bool {
		return c.end == never && c.refused == 0 || o.astray(c.start, cmp.Or(c.refused, c.end))
	})
}

// Moved records that a directory was renamed: what its paths may hold, their new names may hold.
// It is called after the rename was acknowledged, by the one client that works in the directory.
func (o *Oracle) Moved(from, to string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	for path, history := range maps.Clone(o.paths) {
		if rest, below := strings.CutPrefix(path, from+"/"); below {
			o.paths[to+"/"+rest] = history
			// From now on the old name holds nothing, by a change without duration.
			o.paths[path] = []*Change{{what: []Content{Absent}, start: o.now, end: o.now, done: true, by: "rename of the directory"}}
		}
	}
}

// Knows reports whether somebody ever wrote to the path, or was about to.
func (o *Oracle) Knows(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.paths[path]) > 0
}

// Known lists every path that was ever written, in order.
func (o *Oracle) Known() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.paths))
}
