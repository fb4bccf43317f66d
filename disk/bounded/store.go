package bounded

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hemera/disk"
	"hemera/platform/contain"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Store is a [disk.Store] whose calls return, whatever the device does.
type Store struct {
	inner  disk.Store
	memory disk.MemoryStore // inner, if it keeps pieces open; else nil
	device *device

	mu      sync.Mutex
	picture disk.Status // what the last look saw
	looking bool        // a look is under way, or stuck
}

var (
	_ disk.Store         = (*Store)(nil)
	_ disk.Putter        = (*Store)(nil)
	_ disk.Resumer       = (*Store)(nil)
	_ disk.Marker        = (*Store)(nil)
	_ disk.Noter         = (*Store)(nil)
	_ disk.StallReporter = (*Store)(nil)
)

// The optional methods of a store, which Store passes on where the store has them.
type (
	progresser interface {
		Progress() (returned uint64, waiting bool)
	}
	headroomSetter interface{ SetHeadroom(bytes int64) }
	reopener       interface{ Reopen(id hemera.PieceID) }
	scrubber       interface {
		Scrub(ctx context.Context, o disk.ScrubOptions)
	}
)

// New returns store with bounded calls. It looks at the disk on this goroutine, like the open before it, and blocks as
// long as the device does. From now on the Store owns the inner one, which must not be used beside it. A call that panics fails; log
// and panics may be nil.
func New(store disk.Store, log *slog.Logger, panics *contain.Panics) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var progress func() (uint64, bool)
	if p, ok := store.(progresser); ok {
		progress = p.Progress
	}
	picture := store.Status()
	s := &Store{inner: store, device: newDevice(picture.Path, log, panics, progress), picture: picture}
	s.memory, _ = store.(disk.MemoryStore)
	return s
}

// Stalled implements [disk.StallReporter].
func (s *Store) Stalled() bool {
	if !s.device.down.Load() { // nearly always, and asked for every read: no lock
		return false
	}
	_, is := s.device.stalled()
	return is
}

// Status looks at the disk, for lookLimit at most, and returns the last picture of it. If the device does not answer the
// disk is failing.
func (s *Store) Status() disk.Status {
	s.look()
	s.mu.Lock()
	st := s.picture
	s.mu.Unlock()
	since, stalled := s.device.stalled()
	if stalled && st.Health != hemera.HealthGone {
		st.Health, st.Why = hemera.HealthFailing, disk.NotAnswered(since)
	}
	return st
}

// look takes a new picture, unless another look is under way.
func (s *Store) look() {
	s.mu.Lock()
	busy := s.looking
	s.looking = true
	s.mu.Unlock()
	if busy {
		return
	}
	c := s.device.newCall(kind{"disk.Status", look, lookLimit}, s.picture.Path)
	c.run = func(*call) {
		st := s.inner.Status()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.picture, s.looking = st, false
	}
	if err := s.device.do(c); err == nil {
		s.device.free(c)
	} else if !disk.IsStalled(err) {
		s.mu.Lock() // the call was not made
		s.looking = false
		s.mu.Unlock()
	}
}

// call makes one of the calls that are not made often. late undoes it if it returns after its caller has been
// answered; it may be nil. Variables that run sets belong to the worker if call returns a stalled error.
func (s *Store) call(k kind, subject string, run func() error, late func(err error)) error {
	c := s.device.newCall(k, subject)
	c.run = func(c *call) { c.err = run() }
	if late != nil {
		c.late = func(c *call) { late(c.err) }
	}
	if err := s.device.do(c); err != nil {
		return err
	}
	err := c.err
	s.device.free(c)
	return err
}

// Create implements [disk.Store]. A piece that is begun late is aborted.
func (s *Store) Create(id hemera.PieceID, o disk.CreateOptions) (disk.Writer, error) {
	made := new(disk.Writer)
	err := s.call(kind{"disk.Create", change, callLimit}, id.String(), func() (err error) {
		*made, err = s.inner.Create(id, o)
		return err
	}, func(err error) {
		if err == nil {
			_ = (*made).Abort()
		}
	})
	if err != nil {
		return nil, err
	}
	return newWriter(s, id, o, *made), nil
}

// Resume implements [disk.Resumer]. A piece that is opened after its limit has a Writer without a user, until the process
// ends.
func (s *Store) Resume(id hemera.PieceID, o disk.CreateOptions) (disk.Writer, error) {
	found := new(disk.Writer)
	err := s.call(kind{"disk.Resume", use, callLimit}, id.String(), func() (err error) {
		*found, err = disk.Resume(s.inner, id, o)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	o.Replace = true // what is sealed late stays
	w := newWriter(s, id, o, *found)
	w.stays = true
	return w, nil
}

// Put implements [disk.Putter]. A piece that is made late is removed.
func (s *Store) Put(id hemera.PieceID, o disk.CreateOptions, c disk.Content, info hemera.SealInfo) (hemera.PieceStat, error) {
	stat := new(hemera.PieceStat)
	err := s.call(kind{"disk.Put", change, limitOf(info)}, id.String(), func() (err error) {
		*stat, err = disk.Put(s.inner, id, o, c, info)
		return err
	}, func(err error) { s.unseal(id, o, err) })
	if err != nil {
		return hemera.PieceStat{}, err
	}
	return *stat, nil
}

// unseal removes a piece that was sealed late, with the result err. One that replaced another stays: it is the only
// one of its name.
func (s *Store) unseal(id hemera.PieceID, o disk.CreateOptions, err error) {
	if err == nil && !o.Replace {
		_ = s.inner.Remove(id)
	}
}

// OpenHeld implements [disk.MemoryStore].
func (s *Store) OpenHeld(id hemera.PieceID) (disk.Reader, bool) {
	if s.memory == nil {
		return nil, false
	}
	r, ok := s.memory.OpenHeld(id)
	if !ok {
		return nil, false
	}
	return newReader(s, r), true
}

// Open implements [disk.Store]. A piece that is open already is opened from memory; one that is opened late is closed.
func (s *Store) Open(id hemera.PieceID) (disk.Reader, error) {
	if r, ok := s.OpenHeld(id); ok {
		return r, nil
	}
	opened := new(disk.Reader)
	err := s.call(kind{"disk.Open", use, callLimit}, id.String(), func() (err error) {
		*opened, err = s.inner.Open(id)
		return err
	}, func(err error) {
		if err == nil {
			_ = (*opened).Close()
		}
	})
	if err != nil {
		return nil, err
	}
	return newReader(s, *opened), nil
}

// Remove implements [disk.Store].
func (s *Store) Remove(id hemera.PieceID) error {
	return s.call(kind{"disk.Remove", change, callLimit}, id.String(), func() error { return s.inner.Remove(id) }, nil)
}

// Scan implements [disk.Store].
func (s *Store) Scan(after hemera.PieceID, limit int) ([]hemera.PieceStat, error) {
	list := new([]hemera.PieceStat)
	err := s.call(kind{"disk.Scan", change, longLimit}, after.String(), func() (err error) {
		*list, err = s.inner.Scan(after, limit)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return *list, nil
}

// Expire implements [disk.Store].
func (s *Store) Expire(age time.Duration) (removed int, err error) {
	count := new(int) // of the worker until the call has ended
	err = s.call(kind{"disk.Expire", change, longLimit}, "", func() (err error) {
		*count, err = s.inner.Expire(age)
		return err
	}, nil)
	if disk.IsStalled(err) {
		return 0, err // the count belongs to the worker
	}
	return *count, err
}

// RepairPages implements [disk.Store].
func (s *Store) RepairPages(id hemera.PieceID, p []byte, off int64) error {
	return s.call(kind{"disk.Repair", change, syncLimit}, id.String(), func() error { return s.inner.RepairPages(id, p, off) }, nil)
}

// Mark implements [disk.Marker].
func (s *Store) Mark(id hemera.PieceID, kept bool) error {
	return s.call(kind{"disk.Mark", change, syncLimit}, id.String(), func() error { return disk.Mark(s.inner, id, kept) }, nil)
}

// Note implements [disk.Noter].
func (s *Store) Note(b []byte) error {
	own := slices.Clone(b) // the caller continues while a call is stuck
	return s.call(kind{"disk.Note", change, callLimit}, "", func() error { return disk.Note(s.inner, own) }, nil)
}

// Noted implements [disk.Noter].
func (s *Store) Noted() ([]byte, error) {
	note := new([]byte) // of the worker until the call has ended
	err := s.call(kind{"disk.Noted", use, callLimit}, "", func() (err error) {
		*note, err = disk.Noted(s.inner)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return *note, nil
}

// Reopen has the next open of the piece read its footer and table again, if the store can.
func (s *Store) Reopen(id hemera.PieceID) {
	if r, ok := s.inner.(reopener); ok {
		_ = s.call(kind{"disk.Reopen", use, callLimit}, id.String(), func() error { r.Reopen(id); return nil }, nil)
	}
}

// SetHeadroom changes how many bytes are kept free, if the store can. It does not call the device.
func (s *Store) SetHeadroom(bytes int64) {
	if h, ok := s.inner.(headroomSetter); ok {
		h.SetHeadroom(bytes)
	}
}

// Scrub reads and verifies the disk until ctx ends, if the store can. A scrub that is stuck then is left behind, with
// its goroutine.
func (s *Store) Scrub(ctx context.Context, o disk.ScrubOptions) {
	inner, ok := s.inner.(scrubber)
	if !ok {
		<-ctx.Done()
		return
	}
	s.mu.Lock()
	path := s.picture.Path
	s.mu.Unlock()
	ended := make(chan struct{})
	o.Panics.Go(nil, "disk.Scrub", path, func() {
		defer close(ended)
		inner.Scrub(ctx, o)
	})
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	grace := time.NewTimer(scrubGrace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
	}
}

// Cancel answers all calls in progress, as if they had reached their limits, and refuses those that follow. It is for
// the end of a process, which waits for no device.
func (s *Store) Cancel() { s.device.cancel() }

// Close closes the store, and blocks for closeLimit at most. Readers stay usable, on workers that end with each call.
func (s *Store) Close() error {
	limit := closeLimit
	if s.Stalled() {
		limit = lookLimit
	}
	err := s.call(kind{"disk.Close", final, limit}, s.picture.Path, s.inner.Close, nil)
	s.device.close()
	if disk.IsStalled(err) {
		return errs.Wrap(err, "disk.Close", s.picture.Path)
	}
	return err
}
