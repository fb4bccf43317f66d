package tier

import (
	"context"
	"slices"
	"time"

	"hemera/tape/gc"
	"hemera/words/hemera"
)

// Disks are the buffer of tape: when a space is nearly full, files that
// are on tape make room. What goes is decided by tape/gc among the
// files that a turn looks at, and by the rule of evict.go once more: a
// file may have been staged or replaced since it was looked at. Spaces that
// hold no files of tape are walked and nothing comes of it.

const (
	// collectEvery is the interval of looks at the free room of spaces.
	collectEvery = time.Minute
	// A turn is bounded, as mounts of lost servers wait for it.
	walkTime, evictTime = 2 * time.Second, 3 * time.Second
	// walkPage is the number of files that are read at once. walkMax bounds the candidates that a turn holds in memory,
	// evictMax those that it evicts.
	walkPage, walkMax, evictMax = 1000, 50_000, 10_000
)

// collector evicts files where room is needed. One goroutine uses it.
type collector struct {
	env      *env
	settings *settings
	disks    *diskCopies
	next     time.Time                       // when the next turn begins
	spaces   map[hemera.SpaceName]*spaceTurn // by name; only those that evict
}

// spaceTurn is the state that a turn leaves to the next one of its space.
type spaceTurn struct {
	// rests: the last turn evicted. The next one does nothing, as nodes
	// need some seconds to remove pieces and to report what is free then.
	rests bool
	// The walk goes on behind this file of this disk.
	disk  hemera.DiskID
	after hemera.FileID
}

func newCollector(e *env, s *settings, disks *diskCopies) *collector {
	return &collector{env: e, settings: s, disks: disks, spaces: map[hemera.SpaceName]*spaceTurn{}}
}

// collect runs a turn, if it is time for one. An error ends the turn of
// its space only.
func (c *collector) collect(ctx context.Context) {
	if c.env.View == nil || c.env.Now().Before(c.next) {
		return
	}
	c.next = c.env.Now().Add(collectEvery)
	// One view for the turn: sums and disks belong together.
	v := c.env.View()
	for _, s := range v.Spaces {
		disks, free, capacity := roomOf(v, s.Name)
		turn := c.spaces[s.Name]
		bounds := c.settings.now().Config.BufferOf(s.Name)
		wanted := gc.Wanted(free, capacity/100*bounds.EvictBelow, capacity/100*bounds.EvictUntil, turn != nil)
		switch {
		case wanted == 0:
			// There is room. The next walk begins with the first disk.
			delete(c.spaces, s.Name)
			continue
		case turn == nil:
			// From now on it is evicted up to the upper bound.
			turn = &spaceTurn{}
			c.spaces[s.Name] = turn
		case turn.rests:
			turn.rests = false
			continue
		}
		// A turn that found nothing to evict does not rest: the next one
		// looks at more files.
		files, freed, err := c.makeRoom(ctx, turn, disks, gc.Rules{Now: c.env.Now(), Wanted: wanted, MinAge: bounds.MinAge.Duration(), FilesMax: evictMax})
		if turn.rests = files > 0; files > 0 {
			c.env.Log.Info("files that are on tape made room", "space", string(s.Name), "files", files, "bytes", freed, "wanted", wanted)
		}
		if err != nil && ctx.Err() == nil {
			c.env.Log.Warn("files that are on tape cannot make room", "space", string(s.Name), "error", err)
		}
	}
}

// roomOf adds up the disks of a space that can be used. Folders of one
// filesystem have its room together. Bytes; what is kept free by the
// headroom does not count as free, but belongs to the capacity.
func roomOf(v *hemera.View, space hemera.SpaceName) (disks []hemera.DiskID, free, capacity int64) {
	// Ids of filesystems are those of a host, which may have several nodes.
	type filesystem struct {
		host string
		id   uint64
	}
	counted := map[filesystem]bool{}
	for _, d := range v.Disks {
		if d.Space != space || !d.Active {
			// Pieces on a disk out of reach make no room now.
			continue
		}
		disks = append(disks, d.ID)
		n, _ := v.Node(d.Node)
		fs := filesystem{n.Host(), d.Filesystem}
		if d.Filesystem == 0 || !counted[fs] {
			free, capacity = free+d.Free, capacity+d.Capacity
		}
		counted[fs] = true
	}
	return disks, free, capacity
}

// makeRoom evicts files of the disks until as many bytes are free as the rules want, as far
// as the bounds of a turn allow. A file that may not go after all stays,
// and the others go on. It returns how many files went, and the bytes of
// their pieces on all disks.
func (c *collector) makeRoom(ctx context.Context, turn *spaceTurn, disks []hemera.DiskID, rules gc.Rules) (evicted int, freed int64, err error) {
	files, err := c.walk(ctx, turn, disks)
	if err != nil {
		return 0, 0, err
	}
	verdicts, _ := gc.Choose(files, rules)
	// The oldest first, as time may not be enough for all.
	var leave []gc.File
	for i, v := range verdicts {
		if v.Evict {
			leave = append(leave, files[i])
		}
	}
	slices.SortFunc(leave, func(x, y gc.File) int { return x.Used.Compare(y.Used) })
	shelf, err := c.disks.Shelf(ctx)
	if err != nil {
		return 0, 0, err
	}
	end := c.env.Now().Add(evictTime)
	for _, f := range leave {
		if ctx.Err() != nil || c.env.Now().After(end) {
			break
		}
		bytes, err := c.disks.evict(ctx, shelf, f.ID, false)
		if err != nil {
			// Mostly somebody staged it meanwhile, or removed it.
			c.env.Log.Debug("a file stays on disk", "file", f.ID, "error", err)
			continue
		}
		evicted, freed = evicted+1, freed+bytes
	}
	return evicted, freed, nil
}
