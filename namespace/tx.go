package namespace

import (
	"context"
	"errors"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/kv"
)

// tx is one operation's picture of the records: what it changed itself, over the cache, over the
// store. It remembers the newest batch it saw anything of, because its answer must not be given
// before that is durable.
type tx struct {
	n       *Namespace
	ctx     context.Context
	now     time.Time
	touched uint64
	locked  bool // mu is held

	under   map[string]change // of the changes before it in its group
	changes map[string]change
	bytes   int
	order   []string // keys of changes as they were first changed
	events  []hemera.Event
	// unlinked is how many more pieces wait for their removal.
	unlinked int64
}

type change struct {
	value any // nil: deleted
	raw   []byte
}

// fetch returns the record at the key, nil when there is none.
func fetch[T any](t *tx, k []byte, decode func(k, raw []byte) (*T, error)) (*T, error) {
	if c, ok := t.changed(k); ok {
		v, _ := c.value.(*T)
		return v, nil
	}
	for {
		count := t.n.cache.writes(k)
		value, seq, ok := t.n.cache.get(k)
		if ok {
			t.touched = max(t.touched, seq)
			v, _ := value.(*T)
			return v, nil
		}
		v, size, err := load(t, k, decode)
		if err != nil {
			return nil, err
		}
		seq = t.n.cache.floor.Load()
		var kept any
		if v != nil {
			kept = v
		}
		if t.n.cache.fill(k, kept, size, seq, count) {
			t.touched = max(t.touched, seq)
			return v, nil
		}
		if err := t.n.barrier(t); err != nil {
			return nil, err
		}
	}
}

// changed is what the operation, or one before it in its group, did to the key.
func (t *tx) changed(k []byte) (change, bool) {
	c, ok := t.changes[string(k)]
	if !ok {
		c, ok = t.under[string(k)]
	}
	return c, ok
}

func load[T any](t *tx, k []byte, decode func(k, raw []byte) (*T, error)) (*T, int, error) {
	raw, err := t.n.store.Get(t.ctx, k)
	if errors.Is(err, errs.NotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	v, err := decode(k, raw)
	if err != nil {
		return nil, 0, damaged(k, err)
	}
	return v, len(raw), nil
}

func damaged(k []byte, err error) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "namespace.Read", Subject: string(k), Cause: err,
		Remedy: "restore the manager's store from its latest backup, or run this version's successor if it was newer"}
}

func (t *tx) entry(parent hemera.FileID, name string) (*hemera.Entry, error) {
	return fetch(t, entryKey(parent, name), decodeEntry)
}

func (t *tx) root() (*hemera.Entry, error) {
	e, err := t.entry(0, "")
	if err == nil && e == nil {
		err = errs.New(errs.Corrupt, "namespace.Read", "/", "the root directory is missing from the store")
	}
	return e, err
}

// byID returns the entry with the id, nil when there is none.
func (t *tx) byID(id hemera.FileID) (*hemera.Entry, error) {
	if id == hemera.RootID {
		return t.root()
	}
	p, err := fetch(t, idKey(tabPlace, id), decodePlace)
	if err != nil || p == nil {
		return nil, err
	}
	e, err := t.entry(p.Parent, p.Name)
	if err == nil && (e == nil || e.ID != id) {
		err = errs.New(errs.Corrupt, "namespace.Read", "fid:"+id.String(), "the id's place holds another entry")
	}
	return e, err
}

func (t *tx) state(dir hemera.FileID) (*state, error) {
	s, err := fetch(t, idKey(tabState, dir), decodeState)
	if err == nil && s == nil {
		err = errs.New(errs.Corrupt, "namespace.Read", "fid:"+dir.String(), "the directory has no totals")
	}
	return s, err
}

// full is the entry as callers see it: a directory with its times and totals.
func (t *tx) full(e *hemera.Entry) (hemera.Entry, error) {
	if !e.IsDir() {
		return *e, nil
	}
	s, err := t.state(e.ID)
	if err != nil {
		return hemera.Entry{}, err
	}
	return withState(*e, s), nil
}

func withState(e hemera.Entry, s *state) hemera.Entry {
	e.Mtime, e.Tree = s.Mtime, s.Tree
	if s.Ctime.After(e.Ctime) {
		e.Ctime = s.Ctime
	}
	return e
}

func (t *tx) set(k []byte, value any, raw []byte) {
	if t.changes == nil {
		t.changes = make(map[string]change, 16)
	}
	name := string(k)
	if _, ok := t.changes[name]; !ok {
		t.order = append(t.order, name)
		t.bytes += len(k)
	}
	t.bytes += len(raw) - len(t.changes[name].raw)
	t.changes[name] = change{value, raw}
}

func (t *tx) mark(k []byte)   { t.set(k, mark{}, nil) }
func (t *tx) remove(k []byte) { t.set(k, nil, nil) }

// mark is the value of keys that only exist.
type mark struct{}

// putEntry stores the entry under its parent and name.
func (t *tx) putEntry(e *hemera.Entry) {
	if e.ID == hemera.RootID {
		t.set(entryKey(0, ""), e, encodeEntry(e))
		return
	}
	t.set(entryKey(e.Parent, e.Name), e, encodeEntry(e))
}

func (t *tx) putPlace(id hemera.FileID, p place) {
	t.set(idKey(tabPlace, id), &p, encodePlace(&p))
}

func (t *tx) putState(dir hemera.FileID, s state) {
	t.set(idKey(tabState, dir), &s, encodeState(&s))
}

// adjust adds to the totals of every directory.
func (t *tx) adjust(dirs []*hemera.Entry, delta hemera.TreeTotals) error {
	if delta == (hemera.TreeTotals{}) {
		return nil
	}
	for _, dir := range dirs {
		s, err := t.state(dir.ID)
		if err != nil {
			return err
		}
		t.putState(dir.ID, state{s.Mtime, s.Ctime, s.Tree.Add(delta)})
	}
	return nil
}

// listed says that the directory's list of names changed now.
func (t *tx) listed(dir hemera.FileID) error {
	s, err := t.state(dir)
	if err == nil {
		t.putState(dir, state{t.now, t.now, s.Tree})
	}
	return err
}

// whoMax bounds a name in the event log.
const whoMax = 256

// event records what was done; its number and time are given when the operation succeeds.
func (t *tx) event(e hemera.Event) {
	e.Who = e.Who[:min(len(e.Who), whoMax)]
	t.events = append(t.events, e)
}

// batch is all the changes, as the store takes them.
func (t *tx) batch() *kv.Batch {
	b := &kv.Batch{Ops: make([]kv.Op, 0, len(t.order))}
	for _, name := range t.order {
		if c := t.changes[name]; c.value == nil {
			b.Delete([]byte(name))
		} else {
			b.Put([]byte(name), c.raw)
		}
	}
	return b
}

// cached reports whether a key belongs to the tables that are read by key.
func cached(k string) bool {
	switch k[1] {
	case tabEntry, tabPlace, tabState, tabUsage, tabNode, tabLimit, tabAccount:
		return true
	}
	return false
}

// begin tells readers that the changes are about to appear in the store; publish, that the cache
// has them.
func (t *tx) begin() {
	for k := range t.changes {
		if cached(k) {
			t.n.cache.wrote(k)
		}
	}
}

func (t *tx) publish(seq uint64) {
	t.n.version.Add(1)
	for k, c := range t.changes {
		if cached(k) {
			t.n.cache.put([]byte(k), c.value, len(c.raw), seq)
			t.n.cache.wrote(k)
		}
	}
	t.n.version.Add(1)
}
