// Package exposed finds files that do not survive the loss of a node or a zone, because too many of their pieces are there.
//
// A space's policy alone does not tell: attributes of directories, requests and conversions give files other layouts, and disks
// come and go. So a [Finder] looks at the pieces of all files, slowly, again and again. It stores nothing: a restart begins a first walk.
// What it found is a picture of the last walk; [Explain] judges one file at once.
//
// A Finder is a worker of the engine of background work, whose goroutine calls Step. Files may be called by anybody meanwhile;
// one mutex guards what both use.
package exposed

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hemera/rules/condition"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

const (
	// After a page the walk rests share times as long as the page took, and pauseMax at most: a walk of all files takes
	// little of a processor, and does not stand still after one slow page.
	share    = 50
	pauseMax = 2 * time.Second
	// restMin is the least time between two walks. After a long one it is as long as ten of them, restMax at most.
	restMin, restMax = time.Minute, 6 * time.Hour
	// groupsMax bounds the layouts that are told apart.
	groupsMax = 50
	// pageMax bounds the entries of a directory that are read at a time, and kept while the directories among them are
	// walked.
	pageMax = 128
)

// exposure describes the loss of one node, or of one zone, for a file: the most pieces that one has whose loss is not
// survived. Zero: each loss is.
type exposure struct{ node, zone int }

// exposureOf judges where a file's pieces are, if disks that are away come back. A file that lacks pieces counts as safe, and
// so does one whose layout has none to spare: what they risk is said elsewhere. So does a file of a space in only one node or zone.
func exposureOf(v *hemera.View, e hemera.Entry) (x exposure) {
	if e.IsDir() || e.Layout.Parity() == 0 || len(e.Pieces) == 0 || len(e.Pieces) < layout.Count(e.Layout, e.Size) {
		return x
	}
	for _, p := range e.Pieces {
		d, ok := v.Disk(p.Disk)
		if !ok {
			continue
		}
		var offNode, offZone layout.Set // the pieces that are left without its node, and without its zone
		onNode, inZone := 0, 0
		for _, o := range e.Pieces {
			other, _ := v.Disk(o.Disk) // one that is not in the cluster shares nothing
			if other.Node == d.Node {
				onNode++
			} else {
				offNode = offNode.With(int(o.Index))
			}
			if other.ID != 0 && other.Zone == d.Zone {
				inZone++
			} else {
				offZone = offZone.With(int(o.Index))
			}
		}
		// Not by numbers alone: a locally repairable code survives some losses of more pieces than it promises.
		if !layout.Readable(e.Layout, e.Size, offNode) {
			x.node = max(x.node, onNode)
		}
		if !layout.Readable(e.Layout, e.Size, offZone) {
			x.zone = max(x.zone, inZone)
		}
	}
	if x.node == 0 && x.zone == 0 {
		return x
	}
	// Where there is one place alone, its loss is that of the space, and no layout helps.
	nodes, zones := places(v, e.Space)
	if nodes < 2 {
		x.node = 0
	}
	if zones < 2 {
		x.zone = 0
	}
	return x
}

// places counts the nodes and the zones of the space's disks that take files.
func places(v *hemera.View, space hemera.SpaceName) (int, int) {
	// Lists and not maps: it is asked for each file that is exposed.
	var nodes []hemera.NodeID
	var zones []string
	for _, d := range v.Disks {
		if d.Space != space || d.Config != hemera.ConfigRW {
			continue
		}
		if !slices.Contains(nodes, d.Node) {
			nodes = append(nodes, d.Node)
		}
		if !slices.Contains(zones, d.Zone) {
			zones = append(zones, d.Zone)
		}
	}
	return len(nodes), len(zones)
}

// Explain says whether the file's loss follows from that of a node or a zone. Nothing if each is survived.
func Explain(v *hemera.View, e hemera.Entry) (reasons []adminapi.Reason) {
	x := exposureOf(v, e)
	say := func(what string, pieces int) {
		if pieces > 0 {
			reasons = append(reasons, adminapi.Reason{About: what,
				Text:   fmt.Sprintf("its loss is not survived: %d of the file's %d pieces are in one %s", pieces, len(e.Pieces), what),
				Remedy: fmt.Sprintf("add disks in other %ss, and balancing moves pieces there; or convert it to a layout with more parity", what)})
		}
	}
	// Both: what helps against the loss of a node may not help against that of its zone.
	say("node", x.node)
	say("zone", x.zone)
	return reasons
}

// ExplainNew says which loss new files do not survive, and whether there is one. It returns false if the loss was not
// asked for: by a layout without parity, or with all disks in one place.
func ExplainNew(l condition.SpaceLoss) (r adminapi.Reason, exposed bool) {
	what, most, have := "node", l.PerNode, l.Nodes
	switch {
	case l.Disk && l.Nodes > 1 && !l.Node:
	case l.Disk && l.Zones > 1 && !l.Zone:
		what, most, have = "zone", l.PerZone, l.Zones
	default:
		return r, false
	}
	return adminapi.Reason{About: adminapi.AboutNewFiles,
		Text:   fmt.Sprintf("do not survive the loss of a %s: layout %s puts up to %d pieces on each of %d %ss", what, l.Layout, most, have, what),
		Remedy: fmt.Sprintf("put disks on more %ss, or use a layout with more parity", what)}, true
}

// Tree is the namespace. Its pages are those of the system, which may read all directories; a directory that was removed
// meanwhile is empty.
type Tree interface {
	hemera.Directories
	Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
}

// Finder finds the files that do not survive the loss of a node or zone. To keep a count with each change instead would cost
// each commit and each move, and one node more changes the answer for all files.
type Finder struct {
	tree Tree
	view func() *hemera.View
	now  func() time.Time

	due time.Time // of the next walk; used by Step alone

	mu   sync.Mutex               // guards what follows
	last []condition.ExposedFiles // what the last walk found, or the first one so far
	told bool                     // a walk has ended
}

// New returns a finder that walks the tree, and judges by the disks of the view at that moment.
func New(tree Tree, view func() *hemera.View, now func() time.Time) *Finder {
	return &Finder{tree: tree, view: view, now: now}
}

// Name returns the worker's name for logs.
func (f *Finder) Name() string { return "exposed" }

// Step walks all files, if that is due, and returns how long to rest.
func (f *Finder) Step(ctx context.Context) (time.Duration, error) {
	began := f.now()
	// At the start nodes register, and clients come back: the first walk waits.
	if f.due.IsZero() {
		f.due = began.Add(restMin)
	}
	if wait := f.due.Sub(began); wait > 0 { // a wake-up
		return wait, nil
	}
	root, _, err := f.tree.Resolve(ctx, hemera.RootID)
	if err != nil {
		return restMin, err
	}
	// A walk that fails begins again from the root: its count would lack what was not reached.
	w := walk{finder: f}
	if err := w.directory(ctx, root, hemera.Entry{}, "/"); err != nil {
		return restMin, err
	}
	f.tell(w.found, true)
	ended := f.now()
	rest := min(max(10*ended.Sub(began), restMin), restMax)
	f.due = ended.Add(rest)
	return rest, nil
}

// walk is one look at all files.
type walk struct {
	finder *Finder
	found  []condition.ExposedFiles
}

// directory judges the files below a directory, whose path ends in a slash. Its depth is bounded by [hemera.DepthMax].
func (w *walk) directory(ctx context.Context, dir, above hemera.Entry, path string) error {
	for after := ""; ; {
		began := time.Now() // the work of the processor, so it is the process's clock
		page, next, err := w.finder.tree.Page(ctx, hemera.SystemIdentity(), hemera.PageRequest{Dir: dir, Above: above, Path: path, After: after, Limit: pageMax})
		if err != nil {
			return err
		}
		view := w.finder.view() // one picture for a page
		for _, e := range page {
			if !e.IsDir() {
				w.found = gather(w.found, exposureOf(view, e), e, path+e.Name)
			}
		}
		w.finder.tell(w.found, false)
		// The page is kept meanwhile, one for each level of the tree: so it is read once.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(share*time.Since(began), pauseMax)):
		}
		for _, e := range page {
			if e.IsDir() {
				if err := w.directory(ctx, e, dir, path+e.Name+"/"); err != nil {
					return err
				}
			}
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// gather counts a file with those of its space and layout.
func gather(found []condition.ExposedFiles, x exposure, e hemera.Entry, path string) []condition.ExposedFiles {
	if x.node == 0 && x.zone == 0 {
		return found
	}
	l := e.Layout
	l.BlockSize = 0 // pieces lie the same with blocks of each size
	i := slices.IndexFunc(found, func(f condition.ExposedFiles) bool { return f.Space == e.Space && f.Layout == l })
	if i < 0 {
		if len(found) == groupsMax {
			return found
		}
		i, found = len(found), append(found, condition.ExposedFiles{Space: e.Space, Layout: l, Path: path})
	}
	f := &found[i]
	if x.node > 0 {
		f.Node, f.PerNode = f.Node+1, max(f.PerNode, x.node)
	}
	if x.zone > 0 {
		f.Zone, f.PerZone = f.Zone+1, max(f.PerZone, x.zone)
	}
	return found
}

// tell makes known what a walk found. One that has not ended says less than one before it that has.
func (f *Finder) tell(found []condition.ExposedFiles, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ended || !f.told {
		f.last, f.told = slices.Clone(found), f.told || ended
	}
}

// Files lists the files that do not survive the loss of a node or zone, by space and layout, as the last walk over all
// files found them. Before the end of the first walk, which begins a minute after the start, it is what was found so far.
func (f *Finder) Files() []condition.ExposedFiles {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.last)
}
