package replkv_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv"
	"hemera/platform/kv/journal/memjournal"
	"hemera/platform/kv/memkv"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/kv/replkv"
	"hemera/test/fixture/effort"
	"hemera/words/errs"
)

// put returns a batch of one pair.
func put(key, value string) *kv.Batch {
	b := new(kv.Batch)
	b.Put([]byte(key), []byte(value))
	return b
}

// commit writes a pair and waits.
func commit(w kv.Writer, key, value string) error {
	ticket, err := w.Enqueue(put(key, value))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return ticket.Wait(ctx)
}

// acquire makes a store the writer.
func acquire(t testing.TB, s kv.Store) kv.Writer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w, err := s.Acquire(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// content returns all pairs as words.
func content(t testing.TB, s kv.Reader) string {
	t.Helper()
	var words []string
	if err := s.Scan(t.Context(), nil, nil, func(k, v []byte) bool {
		words = append(words, fmt.Sprintf("%s=%s", k, v))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(words, " ")
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// TestStandBy: a store without a writer applies what others append, serves it, and has it all when it takes over. The older writer's batch is in no store.
func TestStandBy(t *testing.T) {
	c := memjournal.New()
	news := created(t, c, "a")
	a, b := open(t, memkv.New(), news), open(t, memkv.New(), c.Machine("b"))
	old := acquire(t, a)
	for i := range 5 {
		if err := commit(old, fmt.Sprint("k", i), "a"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the stand-by does not follow", func() bool { return b.Applied() == 5 })
	news.Lag(5) // a does not hear of what follows
	young := acquire(t, b)
	if young.Epoch() <= old.Epoch() {
		t.Errorf("epoch %d after %d", young.Epoch(), old.Epoch())
	}
	if err := commit(young, "k1", "b"); err != nil {
		t.Fatal(err)
	}
	// The batch of the older writer is readable until the journal has refused it.
	ticket, err := old.Enqueue(put("k2", "stale"))
	if err != nil {
		t.Fatal(err)
	}
	if err := ticket.Wait(t.Context()); !errors.Is(err, errs.Fenced) {
		t.Errorf("the batch of the older writer: %v", err)
	}
	if _, err := old.Enqueue(put("k2", "stale")); !errors.Is(err, errs.Fenced) {
		t.Errorf("the next one: %v", err)
	}
	news.Lag(memjournal.NoLag)
	eventually(t, "the older writer does not follow", func() bool { return a.Applied() == 6 })
	const want = "k0=a k1=b k2=a k3=a k4=a"
	if got := content(t, a); got != want {
		t.Errorf("the older writer's store has %s", got)
	}
	if got := content(t, b); got != want {
		t.Errorf("the younger writer's store has %s", got)
	}
}

// TestIdleWriterIsFenced: a writer that appends nothing learns that another one was acquired, and its store follows.
func TestIdleWriterIsFenced(t *testing.T) {
	c := memjournal.New()
	a, b := open(t, memkv.New(), created(t, c, "a")), open(t, memkv.New(), c.Machine("b"))
	old := acquire(t, a)
	if err := commit(acquire(t, b), "k", "b"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store does not follow", func() bool { return a.Applied() == 1 })
	if _, err := old.Enqueue(put("k", "stale")); !errors.Is(err, errs.Fenced) {
		t.Errorf("the older writer: %v", err)
	}
}

// TestUnknownOutcome: an append whose answer is lost ends the writer. Its batch and the next one leave the overlay, whatever the journal has; the next
// writer has what the journal has, and what comes later is refused.
func TestUnknownOutcome(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer memjournal.Answer
		want   string // after the next writer was acquired
	}{
		{"carried out", memjournal.LostAfter, "a=1 b=2"},
		{"never carried out", memjournal.LostNever, "a=1"},
		{"carried out later", memjournal.LostLater, "a=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := memjournal.New()
			s := open(t, memkv.New(), created(t, cluster, "a"))
			w := acquire(t, s)
			if err := commit(w, "a", "1"); err != nil {
				t.Fatal(err)
			}
			cluster.Appends(func(call memjournal.Call) memjournal.Answer {
				if call.Entry.Seq == 2 {
					return c.answer
				}
				return memjournal.Hangs
			})
			second, err := w.Enqueue(put("b", "2"))
			if err != nil {
				t.Fatal(err)
			}
			third, err := w.Enqueue(put("c", "3"))
			if err == nil {
				err = errors.Join(second.Wait(t.Context()), third.Wait(t.Context()))
			}
			if !errors.Is(err, errs.Timeout) {
				t.Errorf("the batches: %v", err)
			}
			if _, err := w.Enqueue(put("d", "4")); err == nil {
				t.Error("the writer is usable after an unknown outcome")
			}
			if got := content(t, s); got != "a=1" && got != c.want {
				t.Errorf("after the error the store has %s", got)
			}
			cluster.Appends(nil)
			w = acquire(t, s)
			if taken := cluster.Late(); taken != 0 {
				t.Errorf("the journal took %d entries of the older epoch", taken)
			}
			if got := content(t, s); got != c.want {
				t.Errorf("the next writer has %s, not %s", got, c.want)
			}
			if err := commit(w, "e", "5"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTrimmed: a store that is behind the trim is stuck, says what to do, and does not fence the writer that works.
func TestTrimmed(t *testing.T) {
	c := memjournal.New()
	a := open(t, memkv.New(), created(t, c, "a"))
	w := acquire(t, a)
	for i := range 10 {
		if err := commit(w, fmt.Sprint("k", i), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Trim(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if b, err := c.Machine("a").Bounds(t.Context()); err != nil || b.First != 8 {
		t.Errorf("bounds %+v, %v", b, err)
	}
	late := open(t, memkv.New(), c.Machine("b"))
	eventually(t, "the store is not stuck", func() bool { return late.Stuck() != nil })
	_, err := late.Acquire(t.Context(), "late")
	if !errors.Is(err, errs.NotFound) || !strings.Contains(errs.RemedyOf(err), "checkpoint") {
		t.Errorf("acquire: %v, remedy %q", err, errs.RemedyOf(err))
	}
	if err := commit(w, "still", "works"); err != nil {
		t.Errorf("the writer was fenced by a store that cannot take over: %v", err)
	}
}

// TestTrimKeepsWhatACrashTakes: the trim leaves the entries that the local engine has not durably, so that a store comes back from a power cut without help.
func TestTrimKeepsWhatACrashTakes(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 5))
		c, fs := memjournal.New(), vfs.NewCrashableMem()
		s := open(t, pebbleIn(t, fs), created(t, c, "a"))
		w := acquire(t, s)
		for i := range 60 {
			if err := commit(w, fmt.Sprintf("k%02d", i), fmt.Sprint(seed)); err != nil {
				t.Fatal(err)
			}
			if r.IntN(10) == 0 {
				if err := s.Trim(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(2) * r.IntN(101), RNG: r})
		again := open(t, pebbleIn(t, left), c.Machine("a"))
		acquire(t, again)
		if got, want := content(t, again), content(t, s); got != want {
			t.Errorf("seed %d: after the crash the store has %q, not %q", seed, got, want)
		}
		if err := errors.Join(s.Close(), again.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForeign: a store that has more than the journal, or another journal's entries, is refused, and fences no writer.
func TestForeign(t *testing.T) {
	first, second := memjournal.New(), memjournal.New()
	fs := vfs.NewMem()
	a := open(t, pebbleIn(t, fs), created(t, first, "a"))
	w := acquire(t, a)
	for i := range 3 {
		if err := commit(w, fmt.Sprint("k", i), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, memkv.New(), created(t, second, "b"))
	other := acquire(t, b)
	if err := commit(other, "x", "b"); err != nil {
		t.Fatal(err)
	}
	a = open(t, pebbleIn(t, fs), second.Machine("a"))
	if _, err := a.Acquire(t.Context(), "a"); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("acquire of a store that is ahead: %v", err)
	}
	if err := commit(other, "y", "b"); err != nil {
		t.Errorf("the writer was fenced: %v", err)
	}
}

// pebbleIn opens Pebble in a file system of memory.
func pebbleIn(t testing.TB, fs vfs.FS) kv.Store {
	t.Helper()
	s, err := pebblekv.Open("db", pebblekv.Options{FS: fs, Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// holding is an engine whose writer holds batches back, as a process that is killed before it applies them.
type holding struct {
	kv.Store
	held chan struct{} // closed to let them pass
}

func (h holding) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := h.Store.Acquire(ctx, owner)
	return holdingWriter{w, h.held}, err
}

type holdingWriter struct {
	kv.Writer
	held chan struct{}
}

func (h holdingWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	<-h.held
	return h.Writer.Enqueue(b)
}

// TestKilledBetweenAppendAndApply: what the journal has and the local engine has not is there after the next start, also if the power cut took a part
// of what the local engine had.
func TestKilledBetweenAppendAndApply(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 2))
		c, fs := memjournal.New(), vfs.NewCrashableMem()
		held := make(chan struct{})
		s := open(t, pebbleIn(t, fs), created(t, c, "a"))
		w := acquire(t, s)
		before := r.IntN(20)
		for i := range before {
			if err := commit(w, fmt.Sprintf("k%02d", i), "1"); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, holding{pebbleIn(t, fs), held}, c.Machine("a"))
		w = acquire(t, s)
		ticket, err := w.Enqueue(put("last", "2"))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the journal does not have it", func() bool {
			b, err := c.Machine("a").Bounds(t.Context())
			return err == nil && b.Last.Seq == uint64(before)+1
		})
		if !strings.HasSuffix(content(t, s), "last=2") {
			t.Error("the batch is not readable while it is applied")
		}
		left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
		close(held)
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := open(t, pebbleIn(t, left), c.Machine("a"))
		acquire(t, again)
		if got, want := content(t, again), content(t, s); got != want {
			t.Errorf("seed %d: after the crash the store has %q, not %q", seed, got, want)
		}
		if err := errors.Join(s.Close(), again.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// seeds is the number of histories: go test ./platform/kv/replkv -run History -args -seeds 1000.
var seeds = flag.Int("seeds", effort.Of(20, 5), "histories that TestHistory makes")

// TestHistory lets machines take over from each other while answers get lost, and machines crash. What was acknowledged is there in the end, in all
// stores alike; what was fenced is not; no store ever shows a batch that is gone later, but the writer's own.
func TestHistory(t *testing.T) {
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { history(t, rand.New(rand.NewPCG(seed, 3))) })
	}
}

func history(t *testing.T, r *rand.Rand) {
	const machines = 3
	c := memjournal.New()
	created(t, c, "m")
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(r.Uint64(), 4))
	c.Appends(func(memjournal.Call) memjournal.Answer {
		mu.Lock()
		defer mu.Unlock()
		switch k := chance.IntN(30); k {
		case 0:
			return memjournal.LostAfter
		case 1:
			return memjournal.LostNever
		case 2:
			return memjournal.LostLater
		}
		return memjournal.Answered
	})
	fs := make([]*vfs.MemFS, machines)
	stores, writers := make([]*replkv.Store, machines), make([]kv.Writer, machines)
	for i := range stores {
		fs[i] = vfs.NewCrashableMem()
		stores[i] = open(t, pebbleIn(t, fs[i]), c.Machine(fmt.Sprint(i)))
	}
	type result struct {
		key    string
		ticket kv.Ticket
		err    error
	}
	var all []*result
	for n := range 120 {
		i := r.IntN(machines)
		switch k := r.IntN(20); {
		case k == 0: // a power cut
			left := fs[i].CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
			if err := stores[i].Close(); err != nil {
				t.Fatal(err)
			}
			fs[i], writers[i] = left, nil
			stores[i] = open(t, pebbleIn(t, left), c.Machine(fmt.Sprint(i)))
		case k < 3 || writers[i] == nil && k < 5:
			w, err := stores[i].Acquire(t.Context(), fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			writers[i] = w
		case k < 4:
			c.Late()
		case writers[i] != nil:
			x := &result{key: fmt.Sprintf("k%03d", n)}
			if x.ticket, x.err = writers[i].Enqueue(put(x.key, fmt.Sprint(i))); x.err == nil && r.IntN(3) > 0 {
				x.err = x.ticket.Wait(t.Context())
				x.ticket = nil
			}
			if x.err != nil {
				writers[i] = nil
			}
			all = append(all, x)
		}
	}
	for _, x := range all {
		if x.err == nil && x.ticket != nil {
			x.err = x.ticket.Wait(t.Context())
		}
	}
	c.Appends(nil)
	w := acquire(t, stores[0])
	c.Late()
	last, err := w.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := content(t, stores[0])
	for i, s := range stores {
		eventually(t, "a store does not follow", func() bool { return s.Applied() == last })
		if got := content(t, s); got != want {
			t.Errorf("store %d has %q, store 0 has %q", i, got, want)
		}
	}
	for _, x := range all {
		there := strings.Contains(want, x.key+"=")
		if x.err == nil && !there {
			t.Errorf("%s was acknowledged and is lost", x.key)
		}
		if errors.Is(x.err, errs.Fenced) && x.ticket == nil && there {
			t.Errorf("%s was fenced and is there", x.key)
		}
	}
}
