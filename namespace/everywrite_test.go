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

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
	"hemera/test/fixture/effort"
	"hemera/words/adminapi"
	"hemera/words/hemera"
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
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for _, wrong := range crashEverywhere(t, seed, func(s kv.Store) kv.Store { return s }) {
				t.Error(wrong)
			}
		})
	}
}

// TestCrashesShowFaults has the store lie: the test of every write must notice.
func TestCrashesShowFaults(t *testing.T) {
	if effort.Raced {
		t.Skip("whether a fault is found is no matter of races, and takes many histories")
	}
	for name, lying := range map[string]func(kv.Store) kv.Store{
		"acknowledged before it is durable": func(s kv.Store) kv.Store { return liar{s} },
		"batches in two parts":              func(s kv.Store) kv.Store { return tearer{s} },
	} {
		const enough = 20
		var wrong []string
		for seed := uint64(1); len(wrong) == 0 && seed <= enough; seed++ {
			wrong = crashEverywhere(t, seed, lying)
		}
		if len(wrong) == 0 {
			t.Errorf("%s: not noticed in %d histories", name, enough)
			continue
		}
		t.Logf("%s: %s", name, wrong[0])
	}
}

// image is the store that one power cut left. The changes before acked were acknowledged then, those from begun on had
// not begun.
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

// badEnough is the number of bad images after which the test ends.
const badEnough = 5

// crashEverywhere plays a history over a store that is wrapped, and returns what is wrong with the images.
func crashEverywhere(t *testing.T, seed uint64, wrap func(kv.Store) kv.Store) []string {
	t.Helper()
	calls := effort.Of(120, 40)
	cam := &camera{fs: vfs.NewCrashableMem(), r: rand.New(rand.NewPCG(seed, 3))}
	var fs vfs.FS = errorfs.Wrap(cam.fs, cam)
	var h recorder
	var store *pebblekv.Store
	c := &client{h: &h, r: rand.New(rand.NewPCG(seed, 4)), ctx: t.Context(), alone: true}
	var n *namespace.Namespace
	recycles := seed%2 == 1
	start := func() {
		store = must[*pebblekv.Store](t)(pebblekv.Open("db", engineOptions(fs)))
		n = open(t, wrap(store), namespace.Options{CacheBytes: 64 << 10})
		keepRemoved(n, recycles)
		c.n = n.Parts()
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
		case calls / 8, calls / 4, calls * 3 / 8, calls * 5 / 8:
			if err := n.Quotas.CountQuotas(t.Context()); err != nil {
				t.Fatal(err)
			}
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
	h.witness(must[[]hemera.Event](t)(n.Inspection.Events(t.Context(), 0, 10_000)))
	stop()
	states, err := newSeqTree(recycles).play(&h, ends)
	if err != nil {
		return []string{err.Error()}
	}
	cam.images = some(cam.images)
	t.Logf("%d images", len(cam.images))
	wrong := make([]error, len(cam.images))
	var next, bad atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(cam.images) && bad.Load() < badEnough; i = int(next.Add(1)) - 1 {
				if wrong[i] = cam.images[i].develop(t.Context(), states, c.late); wrong[i] != nil {
					bad.Add(1)
				}
				cam.images[i].fs = nil
			}
		})
	}
	wg.Wait()
	var out []string
	for i, err := range wrong {
		if err != nil {
			out = append(out, fmt.Sprintf("power cut before %s: %v", cam.images[i].at, err))
		}
	}
	return out
}

// some returns all images, or one of six where each takes ten times as long: what the race detector sees is the same in
// all, and the others have their turn without it.
func some(images []image) []image {
	var out []image
	for i := 0; i < len(images); i += effort.Of(1, 6) {
		out = append(out, images[i])
	}
	return out
}

// engineOptions makes an engine that is small, so that it writes files often.
func engineOptions(fs vfs.FS) pebblekv.Options {
	return pebblekv.Options{FS: fs, MemTableBytes: 16 << 10, CacheBytes: 1 << 20}
}

// play has the model take the calls one after the other, and returns its state at each end.
func (s *seqTree) play(h *recorder, ends []int) (states []*seqTree, err error) {
	if len(h.wrong) > 0 {
		return nil, errors.New(h.wrong[0])
	}
	for i := 0; ; i++ {
		for len(states) < len(ends) && ends[len(states)] == i {
			states = append(states, s)
		}
		if i == len(h.calls) {
			return states, nil
		}
		good, next := s.step(h.calls[i].Input.(seqCall), h.calls[i].Output.(seqReply))
		if !good {
			model := seqModel(s.recycles)
			return nil, fmt.Errorf("%s\nin\n%s", model.DescribeOperation(h.calls[i].Input, h.calls[i].Output), model.DescribeState(s))
		}
		s = next
	}
}

// develop finds out what is on an image, and goes on from there.
func (m image) develop(ctx context.Context, states []*seqTree, late []namespace.Commit) (err error) {
	if !m.made { // of a store that never opened, files may be there that name others that are not
		store, err := pebblekv.Open("db", engineOptions(m.fs))
		if err != nil {
			return nil
		}
		if err := store.Close(); err != nil {
			return err
		}
	}
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
	keepRemoved(n, states[0].recycles)
	if err := errors.Join(n.Quotas.CountQuotas(ctx), flawless(ctx, n)); err != nil {
		return err
	}
	seen, err := observe(ctx, n)
	if err != nil {
		return err
	}
	var from *seqTree
	for _, s := range states[m.acked : m.begun+1] {
		if seen.sameAs(s) {
			from = s
		}
	}
	if from == nil {
		return fmt.Errorf("after %d changes, and at most %d, there is\n%s\nnot\n%s", m.acked, m.begun,
			seqModel(false).DescribeState(seen), seqModel(false).DescribeState(states[m.acked]))
	}
	return goOn(ctx, n, from, late)
}

// sameAs leaves out what nobody can see, and takes it from s.
func (s *seqTree) sameAs(o *seqTree) bool {
	s.removed, s.recycles = o.removed, o.recycles
	for id, n := range s.nodes {
		n.limit = o.nodes[id].limit
		s.nodes[id] = n
	}
	return s.equal(o)
}

func flawless(ctx context.Context, n *namespace.Namespace) error {
	problems, err := n.Inspection.Check(ctx)
	if err == nil && len(problems) > 0 {
		err = errors.New(strings.Join(problems, "; "))
	}
	return err
}

// goOn calls on, and asks again for commits of before: those that were given their numbers by this store.
func goOn(ctx context.Context, n *namespace.Namespace, from *seqTree, late []namespace.Commit) error {
	var h recorder
	c := &client{h: &h, n: n.Parts(), r: rand.New(rand.NewPCG(uint64(from.events), 5)), ctx: ctx, alone: true}
	next := n.Inspection.Stats().NextID // before the commits, which take numbers for what they put in a bin
	for _, again := range late {
		if again.ID < next && hemera.FileID(again.Gen) < next {
			c.commit(again)
		}
	}
	for range 10 {
		c.step()
	}
	events, err := n.Inspection.Events(ctx, uint64(from.events), 10_000)
	if err != nil {
		return err
	}
	h.witness(events)
	if _, err := from.play(&h, nil); err != nil {
		return err
	}
	return flawless(ctx, n)
}

// observe reads everything the model knows about.
func observe(ctx context.Context, n *namespace.Namespace) (*seqTree, error) {
	s := newSeqTree(false)
	node := func(e hemera.Entry, parent hemera.FileID, name string) {
		n := seqNode{parent: parent, name: name, dir: e.IsDir(), size: e.Size, gen: e.Gen, uid: e.UID, attr: string(e.Xattrs["user.a"])}
		for _, p := range e.Pieces {
			n.disks[p.Index] = p.Disk
		}
		s.nodes[e.ID] = n
	}
	var walk func(dir hemera.FileID, path string) error
	walk = func(dir hemera.FileID, path string) error {
		return n.Tree.List(ctx, system(), path, func(e hemera.Entry) error {
			node(e, dir, e.Name)
			if !e.IsDir() {
				return nil
			}
			return walk(e.ID, strings.TrimSuffix(path, "/")+"/"+e.Name)
		})
	}
	if err := walk(hemera.RootID, "/"); err != nil {
		return nil, err
	}
	if err := n.Bins.ListRecycled(ctx, system(), adminapi.RecycleQuery{All: true}, func(r adminapi.Recycled) error {
		node(r.Entry, seqBinned, "")
		return nil
	}); err != nil {
		return nil, err
	}
	for disk := hemera.DiskID(1); disk <= 3; disk++ {
		pieces, err := n.Pieces.Unlinked(ctx, disk, 10_000)
		if err != nil {
			return nil, err
		}
		for _, p := range pieces {
			s.unlinked[seqPiece{disk, p}] = true
		}
	}
	s.events = int(n.Inspection.Stats().Sequence)
	return s, nil
}
