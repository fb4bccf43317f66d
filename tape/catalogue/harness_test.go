package catalogue

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/namespace/accounts"
	"hemera/namespace/nscheck"
	"hemera/platform/kv/memkv"
	"hemera/tape/tapeconfig"
	"hemera/test/fixture/records"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// places is the tree of a world, for the catalogue.
type places struct {
	tr       *records.Tree
	lost     func(p hemera.PieceID, at time.Time) bool
	restored bool
}

func (p *places) Restored() bool { return p.restored }

func (p *places) Lost(piece hemera.PieceID, at time.Time) bool {
	return p.lost != nil && p.lost(piece, at)
}

func (p *places) MakeParents(_ context.Context, to string, _ uint32) error {
	for i, c := range to {
		if c != '/' || i == 0 {
			continue
		}
		switch e := p.tr.Find(to[:i]); {
		case e == nil:
			p.tr.Mkdir(to[:i])
		case !e.IsDir():
			return errs.New(errs.NotDirectory, "test.MakeParents", to[:i], "a file is in the way")
		}
	}
	return nil
}

// world is a small tree with a catalogue: class "single" has a copy in pool A, "double" one in A and one in B. Tapes A1 and A2 are
// of pool A, B1 is of B. Files below /single and /double are archived.
type world struct {
	*records.Tree
	tb     testing.TB
	cat    *Catalogue
	places *places
}

const life = 7

func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{Tree: records.New(tb, memkv.New()), tb: tb}
	w.places = &places{tr: w.Tree}
	w.cat = New(w.Records, w.Numbers, life, w.places)
	w.cat.Adopt(settings(map[string][]string{"single": {"A"}, "double": {"A", "B"}}, 0))
	for _, class := range []string{"single", "double", "odd", "none"} {
		dir := w.Mkdir("/" + class)
		dir.Xattrs = map[string][]byte{hemera.AttrStorageClass: []byte(class)}
		dir.Setters = map[string]hemera.Setter{hemera.AttrStorageClass: {Admin: true}}
		w.Change(func(l accounts.Ledger) error { l.PutEntry(&dir); return nil })
	}
	for _, vid := range []hemera.VID{"A1", "A2", "B1"} {
		w.must(w.cat.ChangeTape(tb.Context(), vid, func(*tapeapi.Tape) (*tapeapi.Tape, error) {
			return &tapeapi.Tape{Pool: tapeapi.PoolName(vid[:1]), State: tapeapi.Active, Labelled: records.Now()}, nil
		}))
	}
	return w
}

// settings have classes and the pools of their copies, and the largest size of a file, 0 for any.
func settings(pools map[string][]string, most int64) *tapeconfig.Settings {
	c := tapeconfig.Config{Classes: map[string]tapeconfig.Class{}, Routes: map[string]tapeconfig.Route{},
		Organisations: map[string]tapeconfig.Organisation{"": {MaxFileSize: tapeconfig.Bytes(most)}},
		Rules:         map[string]tapeconfig.Rule{"1": {Requester: "one", Policy: "first"}, "2": {Requester: "two", Policy: "second"}}}
	for class, all := range pools {
		c.Classes[class] = tapeconfig.Class{Copies: int64(len(all))}
		for i, pool := range all {
			r := tapeconfig.Route{Class: class, Copy: int64(i + 1), Type: tapeconfig.RouteDefault, Pool: tapeapi.PoolName(pool)}
			c.Routes[r.Name()] = r
		}
	}
	return &tapeconfig.Settings{Config: c, Names: tapeconfig.RuleNames{Users: map[uint32]string{1: "one", 2: "two"}}}
}

func (w *world) must(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// kind fails the test unless an error is of the kind.
func (w *world) kind(what string, err error, want errs.Kind) {
	w.tb.Helper()
	if errs.KindOf(err) != want || err == nil {
		w.tb.Errorf("%s: %v, want %v", what, err, want)
	}
}

// change makes a change with the tables of tapes.
func (w *world) change(fn func(l accounts.Ledger, t Txn) error) {
	w.tb.Helper()
	w.Change(func(l accounts.Ledger) error { return fn(l, Txn{l.Txn}) })
}

// put makes a file of user 1 with a piece on disk 1.
func (w *world) put(p string, size int64) hemera.Entry {
	w.tb.Helper()
	e := hemera.Entry{ID: hemera.FileID(w.Take()), Name: path.Base(p), Kind: hemera.KindFile, UID: 1, GID: 1, Mode: 0o640, Size: size, Gen: 1, Layout: hemera.Replica(1), Space: "default",
		Checksums: []hemera.Checksum{sumOf(size)}}
	if size > 0 {
		e.Pieces = []hemera.Piece{{Disk: 1}}
	}
	w.change(func(l accounts.Ledger, t Txn) error {
		dirs, err := records.Walk(l, path.Dir(p))
		if err != nil {
			return err
		}
		if err := t.Enlist(&e, dirs, w.cat.Settings()); err != nil {
			return err
		}
		return records.Add(l, path.Dir(p), &e)
	})
	return *w.Find(p)
}

// replace gives a file a new content.
func (w *world) replace(p string, size int64) hemera.Entry {
	w.tb.Helper()
	gen := hemera.Generation(w.Take())
	w.change(func(l accounts.Ledger, t Txn) error {
		dirs, err := records.Walk(l, path.Dir(p))
		if err != nil {
			return err
		}
		return records.Rewrite(l, p, func(e *hemera.Entry) error {
			if err := t.RetireContent(e, p, "it was replaced"); err != nil {
				return err
			}
			e.Gen, e.Size, e.Pieces, e.Checksums = gen, size, []hemera.Piece{{Disk: 1}}, nil
			return t.Enlist(e, dirs, w.cat.Settings())
		})
	})
	return *w.Find(p)
}

// remove removes a file for good.
func (w *world) remove(p string) {
	w.tb.Helper()
	w.change(func(l accounts.Ledger, t Txn) error {
		dirs, err := records.Walk(l, path.Dir(p))
		if err != nil {
			return err
		}
		e, err := l.Entry(dirs[len(dirs)-1].ID, path.Base(p))
		if err != nil {
			return err
		}
		return errors.Join(t.RetireContent(e, p, "it was removed"), records.Remove(l, p))
	})
}

// evict takes the disk copies of a file away, arrive brings them back.
func (w *world) evict(p string) {
	w.tb.Helper()
	w.change(func(l accounts.Ledger, t Txn) error {
		return records.Rewrite(l, p, func(e *hemera.Entry) error { e.Pieces = nil; t.Evicted(e); return nil })
	})
}

func (w *world) arrive(p string) {
	w.tb.Helper()
	w.change(func(l accounts.Ledger, t Txn) error {
		return records.Rewrite(l, p, func(e *hemera.Entry) error { e.Pieces = []hemera.Piece{{Disk: 1}}; return t.Arrived(e) })
	})
}

// tape returns a tape, as lists have it.
func (w *world) tape(vid hemera.VID) tapeapi.Tape {
	w.tb.Helper()
	all, err := w.cat.Tapes(w.tb.Context())
	w.must(err)
	at := slices.IndexFunc(all, func(t tapeapi.Tape) bool { return t.VID == vid })
	if at < 0 {
		return tapeapi.Tape{}
	}
	return all[at]
}

// alter changes a tape in ways that no call does.
func (w *world) alter(vid hemera.VID, alter func(t *tapeapi.Tape)) {
	w.tb.Helper()
	w.change(func(_ accounts.Ledger, t Txn) error {
		old, err := t.Tape(vid)
		if err != nil {
			return err
		}
		tape := *old
		alter(&tape)
		t.putTape(&tape)
		return nil
	})
}

// rows lists all rows of a tape.
func (w *world) rows(vid hemera.VID) []tapeapi.File {
	w.tb.Helper()
	rows, err := w.cat.Files(w.tb.Context(), vid, 0, 10_000, true)
	w.must(err)
	return rows
}

// jobs lists all jobs of a file.
func (w *world) jobs(id hemera.FileID) []tapeapi.Job {
	w.tb.Helper()
	jobs, err := w.cat.JobsOf(w.tb.Context(), id)
	w.must(err)
	return jobs
}

// written reports files of jobs that a session wrote at the end of a tape.
func (w *world) written(vid hemera.VID, jobs ...tapeapi.Job) (Recorded, error) {
	last := w.tape(vid).LastFSeq
	r := Report{VID: vid, Drive: "d", Given: func(tapeapi.JobKey, uint64) bool { return true }}
	for i, j := range jobs {
		r.Files = append(r.Files, tapeapi.Written{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: last + 1 + uint64(i), Block: 10 * (last + uint64(i)), Size: j.Size, Bytes: j.Size + 100,
			Sum: sumOf(j.Size)})
	}
	return w.cat.Written(w.tb.Context(), r)
}

// archive writes all copies of a file to tapes A1 and B1.
func (w *world) archive(p string) hemera.Entry {
	w.tb.Helper()
	for _, j := range w.jobs(w.Find(p).ID) {
		if j.Kind == tapeapi.Archive {
			_, err := w.written(hemera.VID(j.Queue+"1"), j)
			w.must(err)
		}
	}
	return *w.Find(p)
}

// archived makes a file that is on tape.
func (w *world) archived(p string, size int64) hemera.Entry {
	w.tb.Helper()
	w.put(p, size)
	return w.archive(p)
}

// recall asks for a file.
func (w *world) recall(id hemera.FileID, uid uint32, request string) (hemera.Entry, error) {
	return w.cat.Recall(w.tb.Context(), RecallRequest{File: id, Request: request, UID: uid, Choose: func(e *hemera.Entry) (hemera.TapeCopy, error) { return e.Tape[0], nil }})
}

// checked makes the namespace's check compare all records.
func (w *world) checked() {
	w.tb.Helper()
	if bad := w.problems(); bad != "" {
		w.tb.Error(bad)
	}
}

func (w *world) problems() string {
	r, err := nscheck.Run(context.Background(), w.Records, nscheck.Options{Workers: 1})
	if err != nil {
		return err.Error()
	}
	return strings.Join(r.Problems, "\n")
}

// sumOf returns the checksum of all files of a size.
func sumOf(size int64) hemera.Checksum {
	c := hemera.Checksum{Kind: hemera.Adler32}
	c.Value[0], c.Value[1] = byte(size>>8), byte(size)
	return c
}
