package sim

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
)

// content names what a path holds: nothing, or certain bytes.
type content string

// absent is the content of a path without a file.
const absent content = "nothing"

// contentOf names a content by a hash, which the oracle remembers instead of the bytes.
func contentOf(p []byte) content {
	sum := sha256.Sum256(p)
	return content(fmt.Sprintf("%x/%d", sum[:6], len(p)))
}

// Instants order the beginnings and ends of what clients do; never is the end of what may still
// happen.
type instant int64

// never is the instant of what has not happened.
const never instant = math.MaxInt64

// change is one attempt to give a path another content. When it happened, if it did, is between
// start and end.
type change struct {
	what       []content // one of these
	start, end instant
	done       bool // acknowledged: it happened
	// refused is when it was said to have failed; what it wrote must not be seen by who begins to
	// read later. Zero: it was not refused.
	refused instant
	by      string
}

// oracle knows what every path may hold: reads are held against the changes that were under way or
// done when they began. It is the specification of an atomic register, told from outside.
type oracle struct {
	mu    sync.Mutex
	now   instant
	paths map[string][]*change
	forks []fork
}

// fork is a time in which a manager answered that did not know all, and was replaced in the end by one that does
// not know what it was told then: nothing is promised of changes and reads that were under way in that time.
type fork struct{ from, to instant }

// forked begins such a time, and joined ends it.
func (o *oracle) forked() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	o.forks = append(o.forks, fork{o.now, never})
}

// joined forgets changes that no answer can show any more.
func (o *oracle) joined() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	o.forks[len(o.forks)-1].to = o.now
}

// astray reports whether some of what went on from start to end was told a manager that was replaced.
func (o *oracle) astray(start, end instant) bool {
	return slices.ContainsFunc(o.forks, func(f fork) bool { return start < f.to && end > f.from })
}

// newOracle makes an oracle that knows no files.
func newOracle() *oracle { return &oracle{paths: map[string][]*change{}} }

// tick returns the next instant of the oracle's clock.
func (o *oracle) tick() instant {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	return o.now
}

// begin records that somebody is about to give the path one of the contents.
func (o *oracle) begin(path, by string, what ...content) *change {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	c := &change{what: what, start: o.now, end: never, by: by}
	o.paths[path] = append(o.paths[path], c)
	return c
}

// end records how it ended: acknowledged, refused, or (neither) in doubt for ever.
func (o *oracle) end(c *change, acknowledged, refused bool) {
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
func (o *oracle) allowed(path string, start instant) map[content]string {
	may := map[content]string{}
	history := o.paths[path]
	var newest instant // the latest beginning of a change that was over when the read began
	for _, c := range history {
		if c.done && c.end < start && !o.astray(c.start, c.end) {
			newest = max(newest, c.start)
		}
	}
	if newest == 0 {
		may[absent] = "never written"
	}
	for _, c := range history {
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

// read holds what a read found against what it may find; the answer says what is wrong, or is "".
func (o *oracle) read(path string, start instant, found content) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	may := o.allowed(path, start)
	if _, ok := may[found]; ok || o.astray(start, o.now) {
		return ""
	}
	return fmt.Sprintf("%s holds %s, which came from %s; it may hold only:%s", path, found, o.origin(found), list(may))
}

// possible is what the path may hold now.
func (o *oracle) possible(path string) []content {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	return slices.Sorted(maps.Keys(o.allowed(path, o.now)))
}

// list writes contents in order, for messages.
func list(may map[content]string) string {
	var b strings.Builder
	for _, v := range slices.Sorted(maps.Keys(may)) {
		fmt.Fprintf(&b, " %s (%s)", v, may[v])
	}
	return b.String()
}

// origin tells by which change a content came, for messages.
func (o *oracle) origin(v content) string {
	for path, history := range o.paths {
		for _, c := range history {
			if slices.Contains(c.what, v) {
				return fmt.Sprintf("%s of %s [%d,%d] done=%t refused=%d", c.by, path, c.start, c.end, c.done, c.refused)
			}
		}
	}
	return "nobody: these bytes were never written as a whole"
}

// doubt reports whether a change of the path may still happen.
func (o *oracle) doubt(path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.paths[path], func(c *change) bool {
		return c.end == never && c.refused == 0 || o.astray(c.start, cmp.Or(c.refused, c.end))
	})
}

// moved records that a directory was renamed: what its paths may hold, their new names may hold.
func (o *oracle) moved(from, to string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now++
	for path, history := range maps.Clone(o.paths) {
		if rest, below := strings.CutPrefix(path, from+"/"); below {
			o.paths[to+"/"+rest] = history
			o.paths[path] = []*change{{what: []content{absent}, start: o.now, end: o.now, done: true, by: "rename of the directory"}}
		}
	}
}

// known lists every path that was ever written, in order.
func (o *oracle) known() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.paths))
}
