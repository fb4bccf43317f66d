package namespace_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/namespace"
	"hemera/platform/kv/pebblekv"
	"hemera/test/fixture/effort"
	"hemera/words/errs"
	"hemera/words/hemera"
)

var seed = flag.Uint64("seed", 0, "run only the random history of this seed")

// machine is a namespace over Pebble over a filesystem that can lose what was not synced.
type machine struct {
	t     *testing.T
	fs    *vfs.MemFS
	store *pebblekv.Store
	n     *namespace.Namespace
	cache int64
	hold  time.Duration

	counter counter
}

func newMachine(t *testing.T, cache int64, hold time.Duration) *machine {
	m := &machine{t: t, fs: vfs.NewCrashableMem(), cache: cache, hold: hold}
	m.start()
	return m
}

func (m *machine) start() {
	m.t.Helper()
	var err error
	if m.store, err = pebblekv.Open("db", pebblekv.Options{FS: m.fs, MemTableBytes: 256 << 10}); err != nil {
		m.t.Fatal(err)
	}
	m.n = open(m.t, m.store, namespace.Options{CacheBytes: m.cache, EventsMax: 50, Hold: m.hold})
}

func (m *machine) stop() {
	m.t.Helper()
	m.counter.stop()
	if err := errors.Join(m.n.Close(), m.store.Close()); err != nil {
		m.t.Error(err)
	}
}

// crash loses power: of what was not synced, some arbitrary part survives.
func (m *machine) crash(r *rand.Rand) {
	m.t.Helper()
	left := m.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
	m.stop()
	m.fs = left
	m.start()
}

// TestRandomHistories holds the namespace against the oracle, with restarts and power cuts in
// between, over a cache from tiny to ample.
func TestRandomHistories(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4}[:effort.Of(4, 2)]
	if *seed != 0 {
		seeds = []uint64{*seed}
	}
	for _, s := range seeds {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(s, 0))
			h := &history{t: t, r: r, o: newOracle(), bins: map[hemera.FileID]kept{}, m: newMachine(t, []int64{1, 64 << 10, 16 << 20}[r.IntN(3)], []time.Duration{0, time.Hour}[s%2])}
			for i := range 500 {
				h.step()
				if i%100 == 99 || t.Failed() {
					h.verify()
				}
				if t.Failed() {
					t.Fatalf("step %d of seed %d; run it again with -seed %d", i, s, s)
				}
			}
			h.m.stop()
		})
	}
}

type history struct {
	t *testing.T
	r *rand.Rand
	o oracle
	m *machine

	bins map[hemera.FileID]kept // what is recycled, by the oracle
}

func (h *history) verify() {
	h.t.Helper()
	checked(h.t, h.m.n)
	h.settle()
	if got, want := used(h.t, h.m.n, ""), h.o.used(); !slices.Equal(got, want) {
		h.t.Errorf("quotas: %q, oracle has %q", got, want)
	}
	for _, d := range h.o.differences(h.t.Context(), h.m.n) {
		h.t.Error(d)
	}
	h.verifyBins()
	checked(h.t, h.m.n)
}

// path returns one to four names out of few, so that histories meet.
func (h *history) path() string {
	p := "/"
	for range 1 + h.r.IntN(4) {
		p = path.Join(p, string(rune('a'+h.r.IntN(4))))
	}
	return p
}

func (h *history) expect(what string, err error, want errs.Kind) {
	h.t.Helper()
	if want == ok && err != nil || want != ok && (err == nil || errs.KindOf(err) != want) {
		h.t.Errorf("%s: got %v, oracle says %v", what, err, want)
	}
}

func (h *history) step() {
	h.t.Helper()
	ctx, n, p, q := h.t.Context(), h.m.n, h.path(), h.path()
	switch h.r.IntN(34) {
	case 0, 1, 2:
		_, err := n.Tree.Mkdir(ctx, system(), p, 0o755, false)
		h.expect("mkdir "+p, err, h.o.mkdir(p, 0o755, false))
	case 3, 4:
		_, err := n.Tree.Mkdir(ctx, system(), p, 0o700, true)
		h.expect("mkdir -p "+p, err, h.o.mkdir(p, 0o700, true))
	case 5, 6, 7, 8, 9, 10:
		h.write(p)
	case 11, 12, 13:
		h.rename(p, q)
	case 14, 15:
		h.remove(p, hemera.EntryKind(h.r.IntN(3)))
	case 16:
		mode := uint32(h.r.IntN(0o1000))
		node, k := h.o.find(p)
		if k == ok {
			node.mode = mode
		}
		h.expect("chmod "+p, n.Tree.SetMode(ctx, system(), p, mode), k)
	case 17:
		h.xattr(p)
	case 18:
		h.move(p)
	case 19:
		h.forget(hemera.DiskID(1 + h.r.IntN(4)))
	case 20:
		h.m.crash(h.r)
	case 21:
		h.m.stop()
		h.m.start()
	case 22, 23:
		h.chown(p)
	case 24, 25, 26:
		h.quota(p)
	case 27:
		h.m.count(n)
	case 28:
		h.settle()
	case 29:
		h.rule(p)
	case 30, 31:
		h.restore(p)
	case 32:
		h.purge()
	case 33:
		h.erase(p)
	}
}

func (h *history) xattr(p string) {
	h.t.Helper()
	node, k := h.o.find(p)
	name, value := "user."+string(rune('a'+h.r.IntN(3))), fmt.Sprint(h.r.IntN(100))
	if h.r.IntN(3) > 0 {
		if k == ok {
			if node.xattrs == nil {
				node.xattrs = make(map[string]string)
			}
			node.xattrs[name] = value
		}
		h.expect("setxattr "+p, h.m.n.Tree.SetXattr(h.t.Context(), system(), p, name, []byte(value), false), k)
		return
	}
	if k == ok {
		if _, there := node.xattrs[name]; !there {
			k = errs.NoAttribute
		}
		delete(node.xattrs, name)
	}
	h.expect("removexattr "+p, h.m.n.Tree.RemoveXattr(h.t.Context(), system(), p, name), k)
}

// disks picks one or two of four disks for a layout of two.
func (h *history) disks() []hemera.Piece {
	perm := h.r.Perm(4)
	pieces := []hemera.Piece{{Index: 0, Disk: hemera.DiskID(1 + perm[0])}, {Index: 1, Disk: hemera.DiskID(1 + perm[1])}}
	return pieces[:1+h.r.IntN(2)]
}

// write commits a content, sometimes asking twice, as after a lost answer.
func (h *history) write(p string) {
	h.t.Helper()
	ctx, pieces, size := h.t.Context(), h.disks(), int64(h.r.IntN(1000))
	keeps := h.keep(p)
	who := hemera.Identity{Name: "alice", UID: uint32(h.r.IntN(3)), GID: uint32(h.r.IntN(2)), Admin: true}
	want := h.o.commit(p, who, size, pieces)
	pr, err := h.m.n.Writes.Prepare(ctx, who, hemera.OpenRequest{Path: p, Access: hemera.AccessCreate, Mode: 0o644})
	h.expect("prepare "+p, err, want)
	if err != nil {
		return
	}
	c := commitOf(pr, p, who)
	if keeps(want == ok) != pr.Keeps {
		h.t.Errorf("the open of %s keeps the old content: %t", p, pr.Keeps)
	}
	c.Size, c.Pieces = size, pieces
	for range 1 + h.r.IntN(2) {
		if h.r.IntN(8) == 0 {
			h.m.crash(h.r)
		}
		_, err = h.m.n.Writes.Commit(ctx, c)
		h.expect("commit "+p, err, ok)
	}
	later, err := h.m.n.Writes.Prepare(ctx, who, hemera.OpenRequest{Path: p, Access: hemera.AccessUpdate})
	h.expect("prepare "+p, err, ok)
	stale := c
	stale.ID, stale.Replaces, stale.Gen, stale.BaseGen = later.ID, 0, later.Gen, later.Gen+7
	_, err = h.m.n.Writes.Commit(ctx, stale)
	h.expect("a commit on another base of "+p, err, errs.Conflict)
}

// move drops a piece or adds the missing one, as drain and repair do.
func (h *history) move(p string) {
	h.t.Helper()
	node, k := h.o.find(p)
	if k != ok || node.kind != hemera.KindFile {
		return
	}
	e := must[hemera.Entry](h.t)(h.m.n.Tree.Stat(h.t.Context(), system(), p))
	var drop, add []hemera.Piece
	if len(node.pieces) == 2 {
		drop = node.pieces[1:]
	} else {
		add = []hemera.Piece{{Index: 1 - node.pieces[0].Index, Disk: 5}}
	}
	err := h.m.n.Pieces.MovePieces(h.t.Context(), namespace.PieceMove{File: e.ID, Gen: e.Gen, Drop: drop, Add: add})
	if add != nil && errors.Is(err, errs.Conflict) {
		return // disk 5 still has the piece of before to remove
	}
	h.expect("move pieces of "+p, err, ok)
	if drop != nil {
		node.pieces = node.pieces[:1]
		return
	}
	if node.pieces = append([]hemera.Piece{node.pieces[0]}, add...); add[0].Index == 0 {
		node.pieces[0], node.pieces[1] = node.pieces[1], node.pieces[0]
	}
}

func (h *history) forget(disk hemera.DiskID) {
	h.t.Helper()
	list := h.m.n.Pieces.Unlinked
	if h.m.hold > 0 && h.r.IntN(2) == 0 {
		list = h.m.n.Pieces.Held
	}
	pieces := must[[]hemera.PieceID](h.t)(list(h.t.Context(), disk, h.r.IntN(20)))
	h.expect("forget", h.m.n.Pieces.ConfirmRemoved(h.t.Context(), disk, pieces), ok)
}

// TestConcurrentHistoryWithPowerCut has many goroutines change one small tree at once, cuts the
// power in the middle, and requires that everything acknowledged by then is there, whole.
func TestConcurrentHistoryWithPowerCut(t *testing.T) {
	const goroutines, rounds = 16, 40
	m := newMachine(t, 64<<10, time.Minute)
	var mu sync.Mutex
	acked := make(map[string]int64) // files no other goroutine touches
	var wg sync.WaitGroup
	var left *vfs.MemFS
	var promised map[string]int64
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range rounds {
				name := fmt.Sprintf("/own%d-%d", g, i)
				put(t, m.n, alice(), name, int64(i))
				mu.Lock()
				acked[name] = int64(i)
				if g == 0 && i == rounds/2 {
					promised = make(map[string]int64)
					for k, v := range acked {
						promised[k] = v
					}
					left = m.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: r})
				}
				mu.Unlock()
				quarrel(t, m.n, r)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	checked(t, m.n)
	m.stop()
	m.fs = left
	m.start()
	defer m.stop()
	checked(t, m.n)
	for name, size := range promised {
		if e, err := m.n.Tree.Stat(t.Context(), alice(), name); err != nil || e.Size != size {
			t.Errorf("%s was acknowledged: %+v, %v", name, e, err)
		}
	}
}

// quarrel changes names that others change too; any refusal is fine, only defects are not.
func quarrel(t *testing.T, n *namespace.Namespace, r *rand.Rand) {
	ctx := t.Context()
	p := fmt.Sprintf("/%c/%c", 'a'+r.IntN(3), 'a'+r.IntN(3))
	q := fmt.Sprintf("/%c/%c/x", 'a'+r.IntN(3), 'a'+r.IntN(3))
	var err error
	switch r.IntN(6) {
	case 0:
		_, err = n.Tree.Mkdir(ctx, alice(), q, 0o777, true)
	case 1:
		err = n.Tree.Rename(ctx, alice(), p, q)
	case 2:
		err = n.Tree.Rename(ctx, alice(), q, p)
	case 3:
		err = n.Tree.Remove(ctx, alice(), p, 0)
	case 4:
		var pr namespace.Prepared
		if pr, err = n.Writes.Prepare(ctx, alice(), hemera.OpenRequest{Path: p, Access: hemera.AccessCreate, Mode: 0o644}); err == nil {
			_, err = n.Writes.Commit(ctx, commitOf(pr, p, alice()))
		}
	case 5:
		err = n.Tree.List(ctx, alice(), "/a", func(hemera.Entry) error { return nil })
	}
	if err == nil {
		return
	}
	switch errs.KindOf(err) {
	case errs.Internal, errs.Corrupt, errs.Unavailable, errs.Fenced, errs.IO, errs.TooLarge:
		t.Error(err)
	}
}
