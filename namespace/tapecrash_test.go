package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
	"hemera/tape/catalogue"
	"hemera/test/fixture/effort"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// tapePicture returns all that the namespace says of tapes, and of the files on them.
func tapePicture(ctx context.Context, n *namespace.Namespace) (string, error) {
	var b strings.Builder
	cat := n.Parts().Tapes
	all, err := cat.Tapes(ctx)
	for _, t := range all {
		rows, bad := cat.Files(ctx, t.VID, 0, 1000, true)
		err = errors.Join(err, bad)
		fmt.Fprintf(&b, "%+v\n", t)
		for _, r := range rows {
			fmt.Fprintf(&b, "  %+v dead %t\n", r.TapeCopy, r.Dead != nil)
		}
	}
	queues, bad := cat.Queues(ctx)
	err = errors.Join(err, bad)
	for _, q := range queues {
		jobs, bad := cat.Jobs(ctx, q, 1000, nil)
		err = errors.Join(err, bad)
		fmt.Fprintf(&b, "%s %s failed %t: %d, %q\n", q.Kind, q.Name, q.Failed, q.Files, q.Policies)
		for _, j := range jobs {
			fmt.Fprintf(&b, "  %+v of %d, %d attempts, %q\n", j.JobKey, j.ArchiveID, j.Attempts, j.Error)
		}
	}
	bad = n.Tree.List(ctx, system(), "/tape", func(e hemera.Entry) error {
		fmt.Fprintf(&b, "%s %d.%d: tape %+v, %d pieces, %q\n", e.Name, e.ID, e.Gen, e.Tape, len(e.Pieces), e.Xattrs)
		return nil
	})
	return b.String(), errors.Join(err, bad)
}

// tapeHistory makes changes of all kinds that there are of tapes, one after the other or several at a time.
type tapeHistory struct {
	n *namespace.Namespace
	r *rand.Rand
}

// entry returns one of a few files, false if it is not there.
func (h *tapeHistory) entry(ctx context.Context) (hemera.Entry, bool) {
	e, err := h.n.Tree.Stat(ctx, system(), fmt.Sprintf("/tape/f%d", h.r.IntN(4)))
	return e, err == nil
}

// theSum returns the checksum of all contents here: their sizes differ.
func theSum() hemera.Checksum {
	sum, _ := hemera.MakeChecksum(hemera.Adler32, []byte{0, 0, 0, 1})
	return sum
}

// write stores a content: that of a recall of e, or a new one of the name.
func (h *tapeHistory) write(ctx context.Context, e *hemera.Entry, name string) (err error) {
	var p namespace.Prepared
	if e != nil {
		p, _, err = h.n.Writes.PrepareConversion(ctx, e.ID, e.Gen)
	} else {
		p, err = h.n.Writes.Prepare(ctx, system(), hemera.OpenRequest{Path: "/tape/" + name, Access: hemera.AccessCreate, Mode: 0o644})
	}
	if err != nil {
		return err
	}
	c := commitOf(p, "/tape/"+name, system())
	c.Size, c.Sums = int64(1+h.r.IntN(1000)), []hemera.Checksum{theSum()}
	if e != nil {
		c.ID, c.BaseGen, c.Convert, c.Size, c.Parent = e.ID, e.Gen, true, e.Size, e.Parent
	}
	_, err = h.n.Writes.Commit(ctx, c)
	return err
}

// step makes a change. Refusals are of no interest: what there is afterwards is.
func (h *tapeHistory) step(ctx context.Context) {
	cat := h.n.Parts().Tapes
	e, there := h.entry(ctx)
	job := tapeapi.JobKey{File: e.ID, Kind: tapeapi.JobKind(1 + h.r.IntN(2)), Copy: uint8(1 + h.r.IntN(2))}
	request := fmt.Sprintf("r%d", h.r.IntN(3))
	switch what := h.r.IntN(16); {
	case !there || what < 2:
		_ = h.write(ctx, nil, fmt.Sprintf("f%d", h.r.IntN(4)))
	case what < 6:
		h.archive(ctx)
	case what < 9:
		_, _ = evictWhole(h.n, e)
	case what == 9:
		_, _ = cat.Recall(ctx, catalogue.RecallRequest{File: e.ID, Request: request, Activity: request, Choose: func(e *hemera.Entry) (hemera.TapeCopy, error) { return e.Tape[0], nil }})
	case what < 12 && e.Evicted():
		_ = h.write(ctx, &e, e.Name)
	case what == 12:
		_ = cat.Withdraw(ctx, e.ID, request)
	case what == 13:
		_ = cat.ChangeJob(ctx, job, func(j tapeapi.Job, _ time.Time) *tapeapi.Job {
			j.Attempts, j.Error, j.Failed = j.Attempts+1, "it failed", j.Attempts > 1
			return &j
		})
	case what == 14:
		_ = h.n.Tree.Remove(ctx, system(), "/tape/"+e.Name, hemera.KindFile)
	default:
		_ = cat.FailRecall(ctx, e.ID, "no way")
		_, _ = cat.Archive(ctx, e.ID, "double")
	}
}

// archive writes what waits for a pool to its tape, or a part of it.
func (h *tapeHistory) archive(ctx context.Context) {
	cat := h.n.Parts().Tapes
	pool := []string{"A", "B"}[h.r.IntN(2)]
	queues, err := cat.Queues(ctx)
	all, bad := cat.Tapes(ctx)
	if err != nil || bad != nil {
		return
	}
	last := all[slices.IndexFunc(all, func(t tapeapi.Tape) bool { return t.VID == hemera.VID("TAPE"+pool+"1") })].LastFSeq
	r := catalogue.Report{VID: hemera.VID("TAPE" + pool + "1"), Drive: "d1"}
	for _, q := range queues {
		if q.Kind != tapeapi.Archive || q.Name != pool {
			continue
		}
		jobs, _ := cat.Jobs(ctx, q, 1+h.r.IntN(3), nil)
		for _, j := range jobs {
			last++
			r.Files = append(r.Files, tapeapi.Written{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: last, Block: 10 * last, Size: j.Size, Bytes: j.Size, Sum: theSum()})
		}
	}
	_, _ = cat.Written(ctx, r)
}

// TestTapesAtEveryWrite does what TestCrashAtEveryWrite does, for changes of tapes: after a power cut at any write there is what was acknowledged,
// and the change that was under way as a whole or not at all. Check finds nothing.
func TestTapesAtEveryWrite(t *testing.T) {
	if err := tapesEverywhere(t, 1, func(s kv.Store) kv.Store { return s }); err != nil {
		t.Error(err)
	}
}

// TestTapeCrashesShowFaults has the store lie: the test of every write must notice.
func TestTapeCrashesShowFaults(t *testing.T) {
	if effort.Raced {
		t.Skip("whether a fault is found is no matter of races")
	}
	for name, lying := range map[string]func(kv.Store) kv.Store{
		"acknowledged before it is durable": func(s kv.Store) kv.Store { return liar{s} },
		"batches in two parts":              func(s kv.Store) kv.Store { return tearer{s} },
	} {
		const enough = 10
		var wrong error
		for seed := uint64(1); wrong == nil && seed <= enough; seed++ {
			wrong = tapesEverywhere(t, seed, lying)
		}
		if wrong == nil {
			t.Errorf("%s: not noticed in %d histories", name, enough)
		}
	}
}

// tapesEverywhere plays a history over a store that is wrapped, and returns what is wrong with the first bad image.
func tapesEverywhere(t *testing.T, seed uint64, wrap func(kv.Store) kv.Store) error {
	t.Helper()
	cam := &camera{fs: vfs.NewCrashableMem(), r: rand.New(rand.NewPCG(seed, 3))}
	store := must[*pebblekv.Store](t)(pebblekv.Open("db", engineOptions(errorfs.Wrap(cam.fs, cam))))
	n := open(t, wrap(store), namespace.Options{CacheBytes: 64 << 10})
	setTapes(t, n)
	cam.made.Store(true)
	cam.mu.Lock()
	cam.images = nil // of the set-up
	cam.mu.Unlock()
	h := &tapeHistory{n, rand.New(rand.NewPCG(seed, 4))}
	states := []string{must[string](t)(tapePicture(t.Context(), n))}
	different := 0
	for i := range effort.Of(60, 30) {
		cam.begun.Store(int64(i + 1))
		h.step(t.Context())
		states = append(states, must[string](t)(tapePicture(t.Context(), n)))
		if states[i+1] != states[i] {
			different++
		}
		cam.acked.Store(int64(i + 1))
	}
	good(t, errors.Join(n.Close(), store.Close()))
	if different < len(states)/4 {
		t.Errorf("%d of %d steps changed something", different, len(states)-1)
	}
	images := some(cam.images)
	t.Logf("%d images, %d changes", len(images), different)
	for _, m := range images {
		if err := m.tapes(t.Context(), states); err != nil {
			return fmt.Errorf("power cut before %s: %w", m.at, err)
		}
	}
	return nil
}

// tapes holds what is on an image against the states that may be there.
func (m image) tapes(ctx context.Context, states []string) (err error) {
	store, err := pebblekv.Open("db", engineOptions(m.fs))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	n, err := namespace.Open(ctx, store, namespace.Options{CacheBytes: 64 << 10})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := flawless(ctx, n); err != nil {
		return err
	}
	seen, err := tapePicture(ctx, n)
	if err == nil && !slices.Contains(states[m.acked:m.begun+1], seen) {
		err = fmt.Errorf("after %d changes, and at most %d, there is\n%s\nnot\n%s", m.acked, m.begun, seen, states[m.acked])
	}
	return err
}

// TestTapesSideBySide makes changes at the same files at once. Whatever their order was, Check finds nothing, no file is on tape only without
// all its copies, and each file has a copy or a job for each number of its class.
func TestTapesSideBySide(t *testing.T) {
	n := withTapes(t)
	var all sync.WaitGroup
	for i := range 4 {
		h := &tapeHistory{n, rand.New(rand.NewPCG(7, uint64(i)))}
		all.Go(func() {
			for range effort.Of(400, 60) {
				h.step(t.Context())
			}
		})
	}
	all.Wait()
	checked(t, n)
	waits := map[tapeapi.JobKey]bool{}
	cat := n.Parts().Tapes
	for _, q := range must[[]catalogue.Queue](t)(cat.Queues(t.Context())) {
		for _, j := range must[[]tapeapi.Job](t)(cat.Jobs(t.Context(), q, 1000, nil)) {
			waits[j.JobKey] = true
		}
	}
	good(t, n.Tree.List(t.Context(), system(), "/tape", func(e hemera.Entry) error {
		if e.Evicted() && len(e.Tape) != 2 {
			t.Errorf("on tape only, with one copy: %+v", e)
		}
		for copy := range uint8(2) {
			there := slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == copy+1 })
			if !there && !waits[tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: copy + 1}] {
				t.Errorf("copy %d is neither there nor waited for: %+v", copy+1, e)
			}
		}
		return nil
	}))
}
