package treewalk

import (
	"context"
	"sync"

	"hemera/platform/contain"
	"hemera/words/hemera"
)

const (
	// pageSize is the number of entries that a walk reads at a time.
	pageSize = 512
	// aheadMax is the number of directories of one page whose first page is read before their turn.
	aheadMax = 4
	// readersMax is the number of pages that one walk reads at the same time.
	readersMax = 4
	// pageDepth is the number of directories on the path to the current one whose page is in memory.
	pageDepth = 32
)

// Options says how to walk a tree.
type Options struct {
	Dirs hemera.Directories
	// The identity that lists the directories, with its permissions.
	Who hemera.Identity
	// Depth is the number of levels below the top to visit. 0 means all, a negative number only the top.
	Depth int
	// Acquire, if not nil, is called before each page is read. It blocks until the page may be read. release ends the
	// read. It can bound the readers of many walks; its error becomes that page's error.
	Acquire func(context.Context) (release func(), err error)
	// Panics contains panics of the goroutines that read pages: the page fails. May be nil.
	Panics *contain.Panics
}

// VisitFunc handles one entry. failure is nil, or the reason why the directory could not be listed: such a directory is
// visited twice, first as an entry. An error of a VisitFunc ends the walk. Entries come without attributes, except the
// top.
type VisitFunc func(path string, e hemera.Entry, failure error) error

// Walk visits top, an entry that the caller looked up, and everything below it. It returns the error of visit, or of ctx
// if that ends. It blocks until all reads ahead have ended.
func Walk(ctx context.Context, top string, e hemera.Entry, visit VisitFunc, o Options) error {
	w := &walk{Options: o, visit: visit, reading: make(chan struct{}, readersMax)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	defer w.readers.Wait()
	defer w.cancel()
	return w.run(top, e)
}

// walk is one call of Walk. Its methods run in the caller's goroutine, except readPage.
type walk struct {
	Options
	visit   VisitFunc
	ctx     context.Context
	cancel  context.CancelFunc
	reading chan struct{} // a slot for each page that is being read
	readers sync.WaitGroup
	stack   []*level // the directories from the top to the current one
}

// level is a directory on the path to the current one.
type level struct {
	path   string
	dir    hemera.Entry
	above  hemera.Entry
	page   []hemera.Entry
	next   int    // index in page of the entry to visit next
	after  string // name after which the next page begins
	last   bool   // no page follows this one
	more   *pending
	below  map[hemera.FileID]*pending // first pages of directories in page
	looked int                        // number of entries of page that prefetch has looked at
}

// pending is a page that is being read. The fields below ready are set before it closes.
type pending struct {
	ready   chan struct{}
	entries []hemera.Entry
	next    string
	err     error
}

// run visits the entry at the end of the stack until the stack is empty.
func (w *walk) run(top string, e hemera.Entry) error {
	if err := w.visit(top, e, nil); err != nil {
		return err
	}
	if e.IsDir() && w.Depth >= 0 {
		w.push(&level{path: top, dir: e})
	}
	for len(w.stack) > 0 {
		l := w.stack[len(w.stack)-1]
		var err error
		if l.next < len(l.page) {
			err = w.visitNext(l)
		} else {
			err = w.turnPage(l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visitNext visits the next entry of the level's page and, if it is a directory, descends into it.
func (w *walk) visitNext(l *level) error {
	e := l.page[l.next]
	l.next++
	path := l.pathOf(e)
	if err := w.visit(path, e, nil); err != nil || !e.IsDir() || !w.inDepth(1) {
		return err
	}
	below := &level{path: path, dir: e, above: l.dir, more: l.below[e.ID]}
	delete(l.below, e.ID)
	w.prefetch(l)
	w.push(below)
	return nil
}

// turnPage waits for the level's next page, or leaves the level if there is none.
func (w *walk) turnPage(l *level) error {
	if l.last {
		w.pop()
		return nil
	}
	page := w.nextPage(l)
	if page.err != nil {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		w.pop()
		return w.visit(l.path, l.dir, page.err)
	}
	l.page, l.next, l.looked = page.entries, 0, 0
	l.after, l.last = page.next, page.next == ""
	l.below = nil
	if !l.last {
		l.more = w.start(l.request())
	}
	w.prefetch(l)
	return nil
}

// inDepth reports whether entries that many levels below the current directory are within the walk's depth.
func (w *walk) inDepth(by int) bool { return w.Depth == 0 || len(w.stack)-1+by < w.Depth }

// push enters a directory, and drops the page of one pageDepth levels above it.
func (w *walk) push(l *level) {
	w.stack = append(w.stack, l)
	if far := len(w.stack) - 1 - pageDepth; far >= 0 {
		w.stack[far].drop()
	}
}

// pop leaves the current directory.
func (w *walk) pop() { w.stack = w.stack[:len(w.stack)-1] }

// pathOf returns the path of an entry of the level's page.
func (l *level) pathOf(e hemera.Entry) string {
	if l.path == "/" {
		return l.path + e.Name
	}
	return l.path + "/" + e.Name
}

// request returns the request for the level's next page.
func (l *level) request() hemera.PageRequest {
	return hemera.PageRequest{Dir: l.dir, Above: l.above, Path: l.path, After: l.after, Limit: pageSize}
}

// drop frees the level's pages. The walk continues after the entry that it visited last.
func (l *level) drop() {
	if l.page == nil {
		return
	}
	l.after, l.last = l.page[l.next-1].Name, false
	l.page, l.next, l.looked = nil, 0, 0
	l.below, l.more = nil, nil
}

// prefetch starts to read the first pages of the next aheadMax directories in the level's page.
func (w *walk) prefetch(l *level) {
	if !w.inDepth(1) {
		return
	}
	for l.looked = max(l.looked, l.next); l.looked < len(l.page) && len(l.below) < aheadMax; l.looked++ {
		e := l.page[l.looked]
		if !e.IsDir() {
			continue
		}
		if l.below == nil {
			l.below = map[hemera.FileID]*pending{}
		}
		l.below[e.ID] = w.start(hemera.PageRequest{Dir: e, Above: l.dir, Path: l.pathOf(e), Limit: pageSize})
	}
}

// start reads a page in its own goroutine, as soon as the walk has a slot for it.
func (w *walk) start(r hemera.PageRequest) *pending {
	p := &pending{ready: make(chan struct{})}
	w.readers.Go(func() {
		defer close(p.ready)
		select {
		case w.reading <- struct{}{}:
			p.err = w.Panics.Do("treewalk.Read", r.Path, func() error { return w.readPage(p, r) })
			<-w.reading
		case <-w.ctx.Done():
			p.err = w.ctx.Err()
		}
	})
	return p
}

// readPage reads a page after Acquire. It drops attributes, which can be large.
func (w *walk) readPage(p *pending, r hemera.PageRequest) (err error) {
	if w.Acquire != nil {
		release, err := w.Acquire(w.ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	p.entries, p.next, err = w.Dirs.Page(w.ctx, w.Who, r)
	for i := range p.entries {
		p.entries[i].Xattrs = nil
	}
	return err
}

// nextPage waits for the level's next page, which is usually being read already.
func (w *walk) nextPage(l *level) *pending {
	p := l.more
	if p == nil {
		p = w.start(l.request())
	}
	l.more = nil
	<-p.ready
	return p
}
