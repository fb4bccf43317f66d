package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/memkv"
	"hemera/platform/kv/pebblekv"
	"hemera/test/fixture/effort"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// unsteady is a store that gives way to others wherever it is called, so that they meet there.
type unsteady struct{ kv.Store }

// unsynced is a filesystem whose syncs wait while it is held.
type unsynced struct {
	vfs.FS
	mu   sync.Mutex
	free chan struct{} // closed while it is not held
}

func newUnsynced(fs vfs.FS) *unsynced {
	u := &unsynced{free: make(chan struct{})}
	close(u.free)
	u.FS = errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData {
			u.mu.Lock()
			free := u.free
			u.mu.Unlock()
			<-free
		}
		return nil
	}))
	return u
}

// hold stops syncs until release is called.
func (u *unsynced) hold() (release func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.free = make(chan struct{})
	return sync.OnceFunc(func() { close(u.free) })
}

func yield() {
	for range rand.IntN(4) * rand.IntN(8) {
		runtime.Gosched()
	}
}

func (s unsteady) Get(ctx context.Context, k []byte) ([]byte, error) {
	yield()
	defer yield()
	return s.Store.Get(ctx, k)
}

func (s unsteady) GetMany(ctx context.Context, keys [][]byte) ([][]byte, error) {
	yield()
	defer yield()
	return s.Store.GetMany(ctx, keys)
}

func (s unsteady) Scan(ctx context.Context, lo, hi []byte, visit func(k, v []byte) bool) error {
	yield()
	defer yield()
	return s.Store.Scan(ctx, lo, hi, visit)
}

func (s unsteady) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := s.Store.Acquire(ctx, owner)
	return unsteadyWriter{w}, err
}

type unsteadyWriter struct{ kv.Writer }

func (w unsteadyWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	yield()
	defer yield()
	return w.Writer.Enqueue(b)
}

// race is one concurrent history: clients over a namespace whose store is interrupted again and
// again, by a power cut (Pebble only), a failing disk or a restart.
type race struct {
	recorder
	t      *testing.T
	r      *rand.Rand
	pebble bool
	cache  int64
	fault  fault

	fs    *vfs.MemFS
	disk  *unsynced
	store kv.Store
	gate  *kvtest.Gate
	n     *namespace.Namespace

	phases int

	recycles bool // files that are removed or replaced go to a bin
}

// fault is the planted defect: a store that lies, or a namespace that does.
type fault struct {
	store func(kv.Store) kv.Store
	names func(*namespace.Namespace) hemera.Names
}

func newRace(t *testing.T, seed uint64, f fault) *race {
	r := rand.New(rand.NewPCG(seed, 7))
	h := &race{t: t, r: r, fault: f, pebble: r.IntN(3) > 0, cache: []int64{1, 16 << 10, 16 << 20}[r.IntN(3)], fs: vfs.NewCrashableMem(), recycles: seed%2 == 0}
	h.start()
	return h
}

func (h *race) start() {
	h.t.Helper()
	if h.pebble {
		h.disk = newUnsynced(h.fs)
		h.store = must[*pebblekv.Store](h.t)(pebblekv.Open("db", pebblekv.Options{FS: h.disk, MemTableBytes: 256 << 10}))
	} else if h.store == nil {
		h.store = memkv.New()
	}
	s := h.store
	if h.fault.store != nil {
		s = h.fault.store(s)
	}
	h.gate = kvtest.NewGate(unsteady{s})
	n, err := namespace.Open(h.t.Context(), h.gate, namespace.Options{CacheBytes: h.cache})
	if err != nil {
		h.mistake("open after phase %d: %v", h.phases, err)
		return
	}
	h.n = n
	keepRemoved(n, h.recycles)
}

func (h *race) stop() {
	h.t.Helper()
	if err := h.n.Close(); err != nil {
		h.t.Error(err)
	}
	if h.pebble {
		if err := h.store.Close(); err != nil {
			h.t.Error(err)
		}
	}
}

// phase has clients call until there were enough calls, and then breaks the store in one way.
func (h *race) phase(clients, calls int) {
	tree := h.n.Parts()
	if h.fault.names != nil {
		tree.Names = h.fault.names(h.n)
	}
	interrupt := []func() (settle func()){h.nothing, h.brokenDisk, h.powerCut, h.powerCut}[h.r.IntN(4)]
	if !h.pebble {
		interrupt = []func() func(){h.nothing, h.brokenDisk}[h.r.IntN(2)]
	}
	settle := func() {}
	all := make([]*client, clients) // before any of them calls: the one that interrupts draws from h.r too
	for id := range all {
		all[id] = &client{h: &h.recorder, n: tree, r: rand.New(rand.NewPCG(h.r.Uint64(), 0)), id: id, ctx: h.t.Context()}
	}
	var made atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			for !over.Load() {
				if made.Add(1) == int64(calls) {
					settle = interrupt()
					over.Store(true)
					return
				}
				c.step()
			}
		})
	}
	wg.Go(func() {
		for !over.Load() { // as the manager does for as long as it runs
			err := h.n.Quotas.CountQuotas(h.t.Context())
			if k := errs.KindOf(err); err != nil && k != errs.Unavailable {
				h.mistake("count quotas: %v", err)
			}
			yield()
		}
	})
	wg.Wait()
	settle()
}

// nothing returns an orderly restart.
func (h *race) nothing() (settle func()) {
	return func() {
		h.stop()
		h.start()
	}
}

// brokenDisk has all that is on its way fail: whether it happened is only known later.
func (h *race) brokenDisk() (settle func()) {
	h.gate.Shut()
	for range 50 {
		runtime.Gosched()
	}
	h.gate.Open(errors.New("the disk is gone"))
	return func() {
		_ = h.n.Close() // cannot say more than its callers were told
		h.stop()
		h.start()
	}
}

// powerCut keeps, of what was not synced, some arbitrary part. There is something: for a while
// before it nothing was.
func (h *race) powerCut() (settle func()) {
	release := h.disk.hold()
	defer release()
	for i, from := 0, h.clock.Load(); i < 5000 && h.clock.Load() < from+40; i++ {
		runtime.Gosched()
	}
	before := h.clock.Add(1)
	left := h.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: h.r.IntN(2) * h.r.IntN(101), RNG: h.r})
	after := h.clock.Add(1)
	return func() {
		h.lost(before, after)
		h.stop()
		h.fs = left
		h.start()
	}
}

// checkTime bounds the search for an order.
const checkTime = 20 * time.Second

// verdict returns the problem of the history, or "".
func (h *race) verdict() string {
	if len(h.wrong) > 0 {
		return strings.Join(h.wrong, "\n")
	}
	model := seqModel(h.recycles)
	slices.SortFunc(h.calls, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	result, info := porcupine.CheckOperationsVerbose(model, h.calls, checkTime)
	if result == porcupine.Ok {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s: no order of these calls explains the answers (pebble %t, cache %d)\n", result, h.pebble, h.cache)
	for _, o := range h.calls {
		to := fmt.Sprint(o.Return)
		if o.Return == math.MaxInt64 {
			to = "?"
		}
		fmt.Fprintf(&out, "%5d-%-5s client %d: %s\n", o.Call, to, o.ClientId, model.DescribeOperation(o.Input, o.Output))
	}
	out.WriteString(stuck(model, info, h.calls))
	return out.String()
}

// stuck tells how far the longest order got, what is true there, and which calls cannot come next.
func stuck(model porcupine.Model, info porcupine.LinearizationInfo, calls []porcupine.Operation) string {
	var longest []int
	for _, orders := range info.PartialLinearizations() {
		for _, o := range orders {
			if len(o) > len(longest) {
				longest = o
			}
		}
	}
	state, first := model.Init(), int64(math.MaxInt64)
	for _, i := range longest {
		_, state = model.Step(state, calls[i].Input, calls[i].Output)
	}
	for i, o := range calls {
		if !slices.Contains(longest, i) {
			first = min(first, o.Return)
		}
	}
	out := fmt.Sprintf("after %d calls the tree is\n%s\nand these cannot come next:\n", len(longest), model.DescribeState(state))
	for i, o := range calls {
		if !slices.Contains(longest, i) && o.Call <= first {
			out += fmt.Sprintf("%5d-%d: %s\n", o.Call, o.Return, model.DescribeOperation(o.Input, o.Output))
		}
	}
	return out
}

// runRace runs one history from its seed to its verdict.
func runRace(t *testing.T, seed uint64, f fault) string {
	h := newRace(t, seed, f)
	for h.phases < 3 && len(h.wrong) == 0 {
		h.phases++
		h.phase(6, 50)
	}
	if len(h.wrong) > 0 {
		return h.verdict()
	}
	if f.store == nil && f.names == nil {
		if err := h.n.Quotas.CountQuotas(t.Context()); err != nil {
			t.Error(err)
		}
		checked(t, h.n)
	}
	h.witness(must[[]hemera.Event](t)(h.n.Inspection.Events(t.Context(), 0, 1_000_000)))
	h.stop()
	return h.verdict()
}

// TestLinearizable holds concurrent histories against the sequential specification: every answer,
// over power cuts, broken disks and restarts, must be that of one order of all calls that keeps
// who came after whom. HEMERA_LINEAR_SEEDS histories are tried, from HEMERA_LINEAR_FIRST on.
func TestLinearizable(t *testing.T) {
	first, count := environment(t, "HEMERA_LINEAR_FIRST", 1), environment(t, "HEMERA_LINEAR_SEEDS", effort.Of[uint64](40, 10))
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if wrong := runRace(t, seed, fault{}); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// TestInterruptedAtOnce breaks the store at the very first call, while other clients may not even have
// begun: the least that a phase can be.
func TestInterruptedAtOnce(t *testing.T) {
	for seed := range uint64(8) {
		h := newRace(t, seed+1, fault{})
		h.phase(6, 1)
		h.stop()
		if len(h.wrong) > 0 {
			t.Errorf("seed %d: %s", seed+1, h.verdict())
		}
	}
}

func environment(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}
