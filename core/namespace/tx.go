package namespace

import (
	"context"
	"errors"
	"time"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
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

	key []byte // where the keys of lookups are made

	all    *changes // of its group, its own last; nil for a reader
	before *changes // of the group before, if that is not visible yet
	rests  bool     // something it saw is of that group
	events []hemera.Event
	// unlinked is how many more pieces wait for their removal, buried how many records of ended
	// writes there are more.
	unlinked int64
	held     heldSum
	buried   int
}

// fetch returns the record at the key, nil when there is none.
func fetch[T any](t *tx, k []byte, decode func(k, raw []byte) (*T, error)) (*T, error) {
	hash := t.n.cache.hash(k)
	if value, ok := t.changed(k, hash); ok {
		v, _ := value.(*T)
		return v, nil
	}
	value, seq, ok := t.n.cache.get(hash, k)
	if !ok && t.n.cache.without(k) {
		return nil, nil
	}
	for !ok {
		count := t.n.cache.writes(hash)
		if value, seq, ok = t.n.cache.again(hash, k); ok {
			break
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
		// A change needs no cache to be sure: what is being written is in its own picture.
		if t.n.cache.fill(hash, k, record{kept, size, seq}, count) || t.all != nil {
			t.touched = max(t.touched, seq)
			return v, nil
		}
		if err := t.n.barrier(t); err != nil {
			return nil, err
		}
	}
	t.touched = max(t.touched, seq)
	v, _ := value.(*T)
	return v, nil
}

// changed is what the operation, or one before it in its group, did to the key.
func (t *tx) changed(k []byte, hash uint64) (any, bool) {
	value, ok := t.all.get(k, hash)
	if !ok {
		if value, ok = t.before.get(k, hash); ok {
			t.rests = true
		}
	}
	return value, ok
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
		return nil, 0, schema.Damaged(k, err)
	}
	return v, len(raw), nil
}

func (t *tx) entry(parent hemera.FileID, name string) (*hemera.Entry, error) {
	t.key = schema.AppendEntryKey(t.key[:0], parent, name)
	return fetch(t, t.key, schema.DecodeEntry)
}

// idKey is a key that is good until the next lookup.
func (t *tx) idKey(table byte, id hemera.FileID) []byte {
	t.key = schema.AppendIDKey(t.key[:0], table, id)
	return t.key
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
	p, err := fetch(t, t.idKey(schema.TableLocation, id), schema.DecodeLocation)
	if err != nil || p == nil {
		return nil, err
	}
	e, err := t.entry(p.Parent, p.Name)
	if err == nil && (e == nil || e.ID != id) {
		err = errs.New(errs.Corrupt, "namespace.Read", "fid:"+id.String(), "the id's place holds another entry")
	}
	return e, err
}

func (t *tx) state(dir hemera.FileID) (*schema.Directory, error) {
	s, err := fetch(t, t.idKey(schema.TableDirectory, dir), schema.DecodeDirectory)
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

func withState(e hemera.Entry, s *schema.Directory) hemera.Entry {
	e.Mtime, e.Tree = s.Mtime, s.Tree
	if s.Ctime.After(e.Ctime) {
		e.Ctime = s.Ctime
	}
	return e
}

func (t *tx) set(k []byte, value any, raw []byte) { t.all.set(k, value, raw, len(raw)) }

// total sets a record that many changes of a group set again: it is encoded when the group is sealed.
func (t *tx) total(k []byte, value any) { t.all.set(k, value, nil, schema.TotalMax) }

func (t *tx) mark(k []byte)   { t.set(k, schema.Mark{}, nil) }
func (t *tx) remove(k []byte) { t.set(k, nil, nil) }

// putEntry stores the entry under its parent and name.
func (t *tx) putEntry(e *hemera.Entry) {
	if e.ID == hemera.RootID {
		t.key = schema.AppendEntryKey(t.key[:0], 0, "")
	} else {
		t.key = schema.AppendEntryKey(t.key[:0], e.Parent, e.Name)
	}
	t.set(t.key, e, t.all.record(schema.AppendEntry(t.all.room(schema.EntryRoom), e)))
}

func (t *tx) putPlace(id hemera.FileID, p schema.Location) {
	t.set(t.idKey(schema.TableLocation, id), &p, t.all.record(schema.AppendLocation(t.all.room(8+len(p.Name)), &p)))
}

func (t *tx) putState(dir hemera.FileID, s schema.Directory) {
	t.total(t.idKey(schema.TableDirectory, dir), &s)
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
		t.putState(dir.ID, s.With(s.Mtime, s.Ctime, delta))
	}
	return nil
}

// relist is adjust for a name that came to the last of dirs, or went: its list of names changed now.
func (t *tx) relist(dirs []*hemera.Entry, delta hemera.TreeTotals) error {
	last := len(dirs) - 1
	if err := t.adjust(dirs[:last], delta); err != nil {
		return err
	}
	s, err := t.state(dirs[last].ID)
	if err == nil {
		t.putState(dirs[last].ID, s.With(t.now, t.now, delta))
	}
	return err
}

// deepen says that the last of dirs has a directory in it now with deep directories above one another below that. What
// is deep enough has directories above that are, too.
func (t *tx) deepen(dirs []*hemera.Entry, deep int64) error {
	for i := len(dirs) - 1; i >= 0; i-- {
		deep++
		s, err := t.state(dirs[i].ID)
		if err != nil || s.Depth >= deep {
			return err
		}
		deeper := *s
		deeper.Depth = deep
		t.putState(dirs[i].ID, deeper)
	}
	return nil
}

// shallow refuses an entry that would have too many directories above one another, itself and those below included.
func shallow(op, path string, dirs []*hemera.Entry, deep int64) error {
	if int64(len(dirs))+deep > hemera.DepthMax {
		return refuse(errs.TooLarge, op, path, "at most %d names may be in a path", hemera.DepthMax)
	}
	return nil
}

// listed says that the directory's list of names changed now.
func (t *tx) listed(dir hemera.FileID) error {
	s, err := t.state(dir)
	if err == nil {
		t.putState(dir, s.With(t.now, t.now, hemera.TreeTotals{}))
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
