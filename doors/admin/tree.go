package admin

import (
	"context"
	"sync"

	"hemera"
)

const (
	// walkPage is how many entries a walk reads at a time.
	walkPage = 512
	// walkAhead is how many pages of a directory, or of directories in it, a walk reads before their
	// turn, and walkReaders how many at the same time: more would take processors from those who write.
	walkAhead   = 4
	walkReaders = 4
	// walkKept is how many directories of the path that a walk is at have their page in memory. Those
	// further up are read again when the walk comes back to them, so that memory is bounded whatever
	// the depth.
	walkKept = 32
)

// walkOptions say what is walked, and who wants to know.
type walkOptions struct {
	dirs  hemera.Directories
	who   hemera.Identity
	depth int // at most so far down; 0: all, -1: not at all
	turns turns
	// visit is called for each entry in order, and once more with an error for a directory that could
	// not be listed. Its own error ends the walk.
	visit func(path string, e hemera.Entry, failure error) error
}

// walk goes down a tree in order and reads pages ahead of itself: the next of the same directory,
// and the first of the directories that come next. It holds neither a lock nor a picture of the
// store between two pages, so it may take as long as who listens to it.
type walk struct {
	walkOptions
	ctx     context.Context
	cancel  context.CancelFunc
	reading chan struct{} // as long as its number of readers
	group   sync.WaitGroup
	stack   []*level
}

// level is a directory on the path that the walk is at.
type level struct {
	path  string
	dir   hemera.Entry
	above hemera.Entry
	page  []hemera.Entry
	at    int    // of the entry in page that comes next
	after string // name that the next page follows
	done  bool   // no page follows this one
	more  *ahead // the next page
	below map[hemera.FileID]*ahead
	seen  int // entries of page that were looked at for directories to read ahead
}

// ahead is a page on its way.
type ahead struct {
	ready   chan struct{}
	entries []hemera.Entry
	next    string
	err     error
}

func newWalk(ctx context.Context, o walkOptions) *walk {
	w := &walk{walkOptions: o, reading: make(chan struct{}, walkReaders)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	return w
}

// close ends what is read ahead, and waits for it.
func (w *walk) close() {
	w.cancel()
	w.group.Wait()
}

func (w *walk) run(top string, e hemera.Entry) error {
	if err := w.visit(top, e, nil); err != nil {
		return err
	}
	if e.IsDir() && w.depth >= 0 {
		w.push(&level{path: top, dir: e})
	}
	for len(w.stack) > 0 {
		l := w.stack[len(w.stack)-1]
		var err error
		if l.at < len(l.page) {
			err = w.step(l)
		} else {
			err = w.turn(l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step visits the next entry of the level's page.
func (w *walk) step(l *level) error {
	e := l.page[l.at]
	l.at++
	path := l.pathOf(e)
	if err := w.visit(path, e, nil); err != nil || !e.IsDir() || !w.deeper(1) {
		return err
	}
	below := &level{path: path, dir: e, above: l.dir, more: l.below[e.ID]}
	delete(l.below, e.ID)
	w.look(l)
	w.push(below)
	return nil
}

// turn brings the level's next page, or ends the level.
func (w *walk) turn(l *level) error {
	if l.done {
		w.stack = w.stack[:len(w.stack)-1]
		return nil
	}
	page := w.read(l)
	if page.err != nil {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		w.stack = w.stack[:len(w.stack)-1]
		return w.visit(l.path, l.dir, page.err)
	}
	l.page, l.at, l.seen = page.entries, 0, 0
	l.after, l.done = page.next, page.next == ""
	l.below = nil
	if !l.done {
		l.more = w.begin(l.request())
	}
	w.look(l)
	return nil
}

// deeper reports whether entries so far below the top level of the stack are asked for.
func (w *walk) deeper(by int) bool { return w.depth == 0 || len(w.stack)-1+by < w.depth }

// push makes a directory the one that the walk is at, and lets go of the page of one far above.
func (w *walk) push(l *level) {
	w.stack = append(w.stack, l)
	if far := len(w.stack) - 1 - walkKept; far >= 0 {
		w.stack[far].forget()
	}
}

// pathOf is the path of an entry of the level's page.
func (l *level) pathOf(e hemera.Entry) string {
	if l.path == "/" {
		return l.path + e.Name
	}
	return l.path + "/" + e.Name
}

func (l *level) request() hemera.PageRequest {
	return hemera.PageRequest{Dir: l.dir, Above: l.above, Path: l.path, After: l.after, Limit: walkPage}
}

// forget drops what the level has in memory but where it is.
func (l *level) forget() {
	if l.page == nil {
		return
	}
	l.after, l.done = l.page[l.at-1].Name, false
	l.page, l.at, l.seen = nil, 0, 0
	l.below, l.more = nil, nil
}

// look reads directories ahead that the level's page goes on with.
func (w *walk) look(l *level) {
	if !w.deeper(1) {
		return
	}
	for l.seen = max(l.seen, l.at); l.seen < len(l.page) && len(l.below) < walkAhead; l.seen++ {
		e := l.page[l.seen]
		if !e.IsDir() {
			continue
		}
		if l.below == nil {
			l.below = map[hemera.FileID]*ahead{}
		}
		l.below[e.ID] = w.begin(hemera.PageRequest{Dir: e, Above: l.dir, Path: l.pathOf(e), Limit: walkPage})
	}
}

// begin reads a page ahead.
func (w *walk) begin(r hemera.PageRequest) *ahead {
	a := &ahead{ready: make(chan struct{})}
	w.group.Go(func() {
		defer close(a.ready)
		select {
		case w.reading <- struct{}{}:
			w.page(a, r)
			<-w.reading
		case <-w.ctx.Done():
			a.err = w.ctx.Err()
		}
	})
	return a
}

// page reads a page when the walk has a turn. Attributes, which can be large, are not kept.
func (w *walk) page(a *ahead, r hemera.PageRequest) {
	over, err := w.turns.take(w.ctx)
	if err != nil {
		a.err = err
		return
	}
	defer over()
	a.entries, a.next, a.err = w.dirs.Page(w.ctx, w.who, r)
	for i := range a.entries {
		a.entries[i].Xattrs = nil
	}
}

// read is the level's next page: the one that was read ahead, if any.
func (w *walk) read(l *level) *ahead {
	a := l.more
	if a == nil {
		a = w.begin(l.request())
	}
	l.more = nil
	<-a.ready
	return a
}
