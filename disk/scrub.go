package disk

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"hemera/platform/contain"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// ScrubInterval is the time from the end of one scrub of a disk to the begin of the next.
	ScrubInterval = 14 * 24 * time.Hour
	// scrubSave is the interval at which the progress of a scrub is written down.
	scrubSave = 10 * time.Minute
	// scrubRest is the time after which a waiting scrub looks again whether it may continue.
	scrubRest = time.Minute
	// scrubYield bounds the time for which one step of a scrub gives way to other calls, so that it comes to its end on a
	// disk that is never idle, and scrubLook how often it looks.
	scrubYield = time.Second
	scrubLook  = 5 * time.Millisecond
	// scrubName is the file that says how far the scrub is.
	scrubName = ".hemera-scrub"
)

// ScrubOptions are the settings of a scrub.
type ScrubOptions struct {
	// Rate bounds the bytes that it reads in a second, and may change; a disk is not scrubbed while it is 0 or less.
	Rate func() int64
	// Bad is told of pieces that are not good.
	Bad func(hemera.PieceID)
	// Panics contains panics of the verification of one piece; the scrub continues behind it.
	Panics *contain.Panics
}

// scrubState is the content of the scrub's file.
type scrubState struct {
	Version int            `json:"version"`
	Ended   time.Time      `json:"ended"` // the last scrub; zero: none has
	After   hemera.PieceID `json:"after"` // of the scrub under way, the last piece that was read
	Under   bool           `json:"under"` // a scrub is under way
}

// scrubVersion is the version of the scrub's file. A file of another version counts as missing.
const scrubVersion = 1

// Scrub reads all sealed pieces, verifies footers, tables and pages, and begins again [ScrubInterval] after its end. It
// continues where it stopped, also after restarts, gives way to other calls, and does not keep what it reads in memory.
// It returns when ctx ends or the disk is closed.
func (d *Disk) Scrub(ctx context.Context, o ScrubOptions) {
	s := &scrub{disk: d, o: o, state: loadScrub(&d.tree)}
	if !s.state.Ended.IsZero() {
		d.scrubbed.Store(s.state.Ended.UnixNano())
	}
	s.saved = d.opt.Now()
	for s.rest(ctx, scrubRest) {
		now := d.opt.Now()
		if o.Rate() <= 0 || !s.state.Under && now.Sub(s.state.Ended) < ScrubInterval && !s.state.Ended.After(now) {
			continue
		}
		s.state.Under = true
		// A pass that fails continues later, behind the piece it verified last.
		if err := s.pass(ctx); err != nil {
			if ctx.Err() == nil {
				d.opt.Log.Warn("a scrub was interrupted", "disk", d.path, "error", err)
			}
			s.save()
			continue
		}
		s.state = scrubState{Ended: d.opt.Now()}
		s.save()
		d.scrubbed.Store(s.state.Ended.UnixNano())
		d.opt.Log.Info("disk scrubbed", "disk", d.path, "bad", s.bad)
		s.bad = 0
	}
}

// rest waits, and reports whether the disk is still in use.
func (s *scrub) rest(ctx context.Context, t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	d := s.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.closed
}

// scrubTime is the time at which all of the disk had been read last, in Unix nanoseconds; 0 or less: not known.
type scrubTime struct{ atomic.Int64 }

func (s *scrubTime) time() time.Time {
	if at := s.Load(); at > 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// loadScrub reads how far the scrub is. If that cannot be read, the scrub begins again.
func loadScrub(t *tree) (s scrubState) {
	f, err := t.fs.Open(t.path+"/"+scrubName, os.O_RDONLY)
	if err != nil {
		return s
	}
	defer func() { _ = f.Close() }()
	text := make([]byte, 1024)
	n, err := f.ReadAt(text, 0)
	if err != io.EOF || json.Unmarshal(text[:n], &s) != nil || s.Version != scrubVersion {
		return scrubState{}
	}
	return s
}

// scrub is the scrub of one disk.
type scrub struct {
	disk  *Disk
	o     ScrubOptions
	state scrubState
	saved time.Time // when the state was written down last
	bad   int       // pieces found bad in this pass
	buf   []byte    // one step of reading; made when the first piece is read
}

// save writes down how far the scrub is. A disk that takes no writes is scrubbed from its beginning after a
// restart.
func (s *scrub) save() {
	s.saved = s.disk.opt.Now()
	s.state.Version = scrubVersion
	text, err := json.Marshal(s.state)
	if err != nil {
		return
	}
	// The name is not synced: after a power cut the scrub reads a little again.
	name := s.disk.path + "/" + scrubName
	f, err := s.disk.fs.Open(name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err == nil {
		_, err = f.WriteAt(text, 0)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		err = s.disk.fs.Rename(name+".new", name)
	}
	if err != nil {
		s.disk.opt.Log.Debug("how far a scrub is cannot be saved", "disk", s.disk.path, "error", err)
	}
}

// pass reads the pieces that follow.
func (s *scrub) pass(ctx context.Context) error {
	dirs, err := s.disk.pieceDirs()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if dir < uint64(s.state.After.File)/perDirectory {
			continue
		}
		// Pieces that come meanwhile are read in the next pass, at the latest.
		ids, err := s.disk.piecesIn(dir)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if comparePieces(id, s.state.After) <= 0 {
				continue
			}
			if err := s.piece(ctx, id); err != nil {
				return err
			}
			s.state.After = id // also one that is bad: it was reported
			if s.disk.opt.Now().Sub(s.saved) >= scrubSave {
				s.save()
			}
		}
	}
	return nil
}

// piece verifies one piece. Its error ends the pass.
func (s *scrub) piece(ctx context.Context, id hemera.PieceID) error {
	err := s.o.Panics.Do("disk.Scrub", s.disk.path+" "+id.String(), func() error { return s.verify(ctx, id) })
	switch {
	// Whether the piece is good is not known. The next scrub reads it again.
	case errors.Is(err, errs.Internal):
		return nil
	case err == nil, errors.Is(err, fs.ErrNotExist): // removed meanwhile
		return nil
	case ctx.Err() != nil, errors.Is(err, errs.Unavailable):
		return err
	}
	if err = s.disk.failed(err, "disk.Scrub", id); errors.Is(err, errs.Corrupt) || errors.Is(err, errs.IO) {
		s.bad++
		s.disk.opt.Log.Warn("scrub found a bad piece", "disk", s.disk.path, "piece", id.String(), "error", err)
		if s.o.Bad != nil {
			s.o.Bad(id)
		}
		return nil
	}
	return err
}

// verify reads all of a piece from the device, as far as that is not mapped in just now.
func (s *scrub) verify(ctx context.Context, id hemera.PieceID) error {
	if err := s.giveWay(ctx, hemera.PageSize); err != nil {
		return err
	}
	p, err := loadPiece(s.disk, s.disk.sealedPath(id))
	if err != nil {
		return err
	}
	defer p.close()
	if p.stat.ID != id {
		return errs.New(errs.Corrupt, "disk.Scrub", id.String(), "the footer is that of piece "+p.stat.ID.String())
	}
	if err := p.checkTable(); err != nil { // all of it: pages in holes are not read below
		return err
	}
	if s.buf == nil {
		s.buf = make([]byte, readStep*hemera.PageSize)
	}
	for off := int64(0); off < p.stat.Size; {
		if next := p.nextData(off); next > off {
			off = next
			continue
		}
		step := min(int64(len(s.buf)), p.stat.Size-off)
		if err := s.giveWay(ctx, step); err != nil {
			return err
		}
		// The range is dropped from memory before, to read it from the device, and after, as it is of no use there.
		p.forget(off, step)
		n, err := readPages(p, s.buf[:step], nil, off)
		p.forget(off, step)
		if err != nil && err != io.EOF {
			return err
		}
		off += int64(n)
	}
	return nil
}

// giveWay waits as long as n bytes take at the scrub's rate, and then for a moment at which no other call waits for the
// disk.
func (s *scrub) giveWay(ctx context.Context, n int64) error {
	rate := s.o.Rate()
	if rate <= 0 {
		return errs.New(errs.Unavailable, "disk.Scrub", s.disk.path, "scrubs are switched off")
	}
	pause := time.Duration(float64(n) / float64(rate) * float64(time.Second))
	for waited := time.Duration(0); ; waited += pause {
		if !s.rest(ctx, pause) {
			return errs.New(errs.Unavailable, "disk.Scrub", s.disk.path, "the scrub is ended")
		}
		if s.disk.gauge.idle() || waited >= scrubYield {
			return nil
		}
		pause = scrubLook
	}
}
