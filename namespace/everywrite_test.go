package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera"
	"hemera/kv/pebblekv"
	"hemera/namespace"
)

// TestCrashAtEveryWrite plays a random history and looks, before each single write, sync, rename and
// removal of a file under the store, at what a power cut at that instant leaves: once only what was
// synced, once some arbitrary part of the rest too. From each of these the namespace must come back
// with all that was acknowledged, with the change that was under way wholly or not at all, with
// nothing for Check to find, and must go on as if nothing had been. In the middle of the history are a
// restart and a power cut, so that what recovery writes is cut off as well. HEMERA_CRASH_SEEDS histories
// are played, from HEMERA_CRASH_FIRST on.
func TestCrashAtEveryWrite(t *testing.T) {
	first, count := environment(t, "HEMERA_CRASH_FIRST", 1), environment(t, "HEMERA_CRASH_SEEDS", 1)
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { crashEverywhere(t, seed) })
	}
}

// image is what one power cut left. The changes before acked were acknowledged then, those from
// begun on had not begun.
type image struct {
	fs           *vfs.MemFS
	acked, begun int
	made         bool // the store had been opened once
	at           string
}

// camera takes images.
type camera struct {
	r            *rand.Rand
	acked, begun atomic.Int64
	made         atomic.Bool

	mu     sync.Mutex
	fs     *vfs.MemFS
	images []image
}

func (c *camera) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, percent := range []int{0, c.r.IntN(101)} {
		acked := int(c.acked.Load())
		left := c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.r})
		c.images = append(c.images, image{left, acked, int(c.begun.Load()), c.made.Load(), fmt.Sprintf("%d of %s, %d%% survive", op.Kind, op.Path, percent)})
	}
	return nil
}

func (c *camera) String() string { return "camera" }

// cut goes on with what a power cut leaves.
func (c *camera) cut() vfs.FS {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fs = c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.r.IntN(101), RNG: c.r})
	return errorfs.Wrap(c.fs, c)
}

func crashEverywhere(t *testing.T, seed uint64) {
	const calls = 120
	cam := &camera{fs: vfs.NewCrashableMem(), r: rand.New(rand.NewPCG(seed, 3))}
	var fs vfs.FS = errorfs.Wrap(cam.fs, cam)
	var h recorder
	var store *pebblekv.Store
	c := &client{h: &h, r: rand.New(rand.NewPCG(seed, 4)), ctx: t.Context(), alone: true}
	var n *namespace.Namespace
	start := func() {
		store, n = mount(t, fs)
		c.n = n
	}
	stop := func() {
		if err := errors.Join(n.Close(), store.Close()); err != nil {
			t.Fatal(err)
		}
	}
	start()
	cam.made.Store(true)
	ends := []int{0} // how many calls there were when so many steps had been made
	for i := range calls {
		cam.begun.Store(int64(i + 1))
		switch i {
		case calls / 4:
			c.quota(n)
		case calls / 2:
			stop()
			start()
		case calls * 3 / 4:
			left := cam.cut() // nothing is under way: what remains is all there was
			stop()
			fs = left
			start()
		default:
			c.step()
		}
		ends = append(ends, len(h.calls))
		cam.acked.Store(int64(i + 1))
	}
	h.witness(must[[]hemera.Event](t)(n.Events(t.Context(), 0, 10_000)))
	stop()
	states := replay(t, newSeqTree(), &h, ends)
	t.Logf("%d images", len(cam.images))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(cam.images); i = int(next.Add(1)) - 1 {
				develop(t, cam.images[i], states, c.late)
				cam.images[i].fs = nil
			}
		})
	}
	wg.Wait()
}

// mount opens the namespace on a filesystem.
func mount(t *testing.T, fs vfs.FS) (*pebblekv.Store, *namespace.Namespace) {
	t.Helper()
	store := must[*pebblekv.Store](t)(pebblekv.Open("db", pebblekv.Options{FS: fs, MemTableBytes: 16 << 10, CacheBytes: 1 << 20}))
	return store, open(t, store, namespace.Options{CacheBytes: 64 << 10})
}

// replay has the model take the calls one after the other, and returns its state at each end.
func replay(t *testing.T, s *seqTree, h *recorder, ends []int) []*seqTree {
	t.Helper()
	for _, wrong := range h.wrong {
		t.Error(wrong)
	}
	states := []*seqTree{}
	for i := 0; ; i++ {
		for len(states) < len(ends) && ends[len(states)] == i {
			states = append(states, s)
		}
		if i == len(h.calls) {
			return states
		}
		var good bool
		before := s
		if good, s = s.step(h.calls[i].Input.(seqCall), h.calls[i].Output.(seqReply)); !good {
			t.Fatalf("%s\nin\n%s", seqModel().DescribeOperation(h.calls[i].Input, h.calls[i].Output), seqModel().DescribeState(before))
		}
	}
}

// develop finds out what is on an image, and goes on from there.
func develop(t *testing.T, m image, states []*seqTree, late []namespace.Commit) {
	if !m.made { // of a store that never opened, files may be there that name others that are not
		store, err := pebblekv.Open("db", pebblekv.Options{FS: m.fs})
		if err != nil {
			return
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	store, n := mount(t, m.fs)
	defer func() {
		if err := errors.Join(n.Close(), store.Close()); err != nil {
			t.Errorf("%s: %v", m.at, err)
		}
	}()
	if err := n.CountQuotas(t.Context()); err != nil {
		t.Errorf("%s: %v", m.at, err)
	}
	checked(t, n)
	seen := observe(t, n)
	var from *seqTree
	for _, s := range states[m.acked : m.begun+1] {
		if seen.removed = s.removed; seen.equal(s) {
			from = s
		}
	}
	if from == nil {
		t.Errorf("power cut before %s: after %d changes, and at most %d, there is\n%s\nnot\n%s", m.at, m.acked, m.begun,
			seqModel().DescribeState(seen), seqModel().DescribeState(states[m.acked]))
		return
	}
	var h recorder
	c := &client{h: &h, n: n, r: rand.New(rand.NewPCG(uint64(m.acked), uint64(len(m.at)))), ctx: t.Context(), alone: true}
	for _, again := range late {
		if again.ID < n.Stats().NextID { // given out before, or it may be given to another file now
			c.commit(again)
		}
	}
	for range 10 {
		c.step()
	}
	events := must[[]hemera.Event](t)(n.Events(t.Context(), uint64(from.events), 10_000))
	h.witness(events)
	replay(t, from, &h, nil)
	checked(t, n)
}

// quota makes the root a quota node.
func (c *client) quota(n *namespace.Namespace) {
	call := seqCall{verb: "quota", path: "/", who: c.name()}
	c.ask(call, func(ctx context.Context, _ *seqReply) error {
		key := hemera.QuotaKey{Path: "/", Kind: hemera.QuotaUser, ID: 1}
		return errors.Join(n.SetQuota(ctx, named(call.who), key, hemera.QuotaAmount{Files: 1000}), n.CountQuotas(ctx))
	})
}

// observe reads everything the model knows about.
func observe(t *testing.T, n *namespace.Namespace) *seqTree {
	t.Helper()
	s := newSeqTree()
	var walk func(dir hemera.FileID, path string)
	walk = func(dir hemera.FileID, path string) {
		var below []hemera.Entry
		if err := n.List(t.Context(), system(), path, func(e hemera.Entry) error { below = append(below, e); return nil }); err != nil {
			t.Error(err)
		}
		for _, e := range below {
			node := seqNode{parent: dir, name: e.Name, dir: e.IsDir(), size: e.Size, gen: e.Gen, uid: e.UID, attr: string(e.Xattrs["user.a"])}
			for _, p := range e.Pieces {
				node.disks[p.Index] = p.Disk
			}
			s.nodes[e.ID] = node
			if e.IsDir() {
				walk(e.ID, strings.TrimSuffix(path, "/")+"/"+e.Name)
			}
		}
	}
	walk(hemera.RootID, "/")
	for disk := hemera.DiskID(1); disk <= 3; disk++ {
		for _, p := range must[[]hemera.PieceID](t)(n.Unlinked(t.Context(), disk, 10_000)) {
			s.unlinked[seqPiece{disk, p}] = true
		}
	}
	s.events = int(n.Stats().Sequence)
	return s
}
