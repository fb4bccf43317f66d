// Package journaltest tests that a journal keeps its contract. The tests of every implementation call [Run].
package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// Run tests the journal that open makes. Each call of open returns a new one, which was not created yet.
func Run(t *testing.T, open func(t *testing.T) journal.Journal) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, j journal.Journal)
	}{
		{"a journal is created once", create},
		{"entries follow each other", order},
		{"a new epoch fences the older ones", fence},
		{"followers get each entry once, and those that come", follow},
		{"a trimmed journal says so", trim},
		{"entries have a limit", limit},
		{"of many writers each number has one", race},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// writer appends in order.
type writer struct {
	j     journal.Journal
	epoch uint64
	last  journal.Position
}

func begin(t *testing.T, j journal.Journal) *writer {
	t.Helper()
	epoch, last, err := j.Begin(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return &writer{j, epoch, last}
}

// next returns the entry that follows the last one.
func (w *writer) next(text string) journal.Entry {
	return journal.Entry{Seq: w.last.Seq + 1, Epoch: w.epoch, Prev: w.last.Chain, Batch: []byte(text)}
}

// append appends a batch.
func (w *writer) append(t *testing.T, text string) journal.Entry {
	t.Helper()
	e := w.next(text)
	if err := w.j.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	w.last = position(t, e)
	return e
}

// position returns the place of an entry.
func position(t *testing.T, e journal.Entry) journal.Position {
	encoded, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return journal.Position{Seq: e.Seq, Chain: journal.Sum(encoded), Epoch: e.Epoch}
}

var errEnough = errors.New("enough")

// read returns the batches from a number to another.
func read(t *testing.T, j journal.Journal, from, to uint64) (words []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := j.Follow(ctx, from, func(e journal.Entry) error {
		if want := from + uint64(len(words)); e.Seq != want {
			return fmt.Errorf("entry %d instead of %d", e.Seq, want)
		}
		words = append(words, string(e.Batch))
		if e.Seq == to {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("follow: %v after %q", err, words)
	}
	return words
}

func create(t *testing.T, j journal.Journal) {
	if _, _, err := j.Begin(t.Context(), "test"); !errors.Is(err, errs.NotFound) {
		t.Errorf("begin without a journal: %v", err)
	}
	if err := j.Create(t.Context(), 41); err != nil {
		t.Fatal(err)
	}
	if err := j.Create(t.Context(), 0); !errors.Is(err, errs.Exists) {
		t.Errorf("a second create: %v", err)
	}
	w := begin(t, j)
	if w.last.Seq != 41 || w.epoch == 0 {
		t.Errorf("begins with %+v, epoch %d", w.last, w.epoch)
	}
	w.append(t, "a")
	if got := read(t, j, 42, 42); got[0] != "a" {
		t.Errorf("read %q", got)
	}
	if err := j.Follow(t.Context(), 41, nil); !errors.Is(err, errs.NotFound) {
		t.Errorf("follow from before the beginning: %v", err)
	}
	if err := j.Follow(t.Context(), 44, nil); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("follow from behind the end: %v", err)
	}
}

func order(t *testing.T, j journal.Journal) {
	if err := j.Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	w := begin(t, j)
	first := w.append(t, "a")
	// The same once more is what a caller does whose answer was lost; it is there once.
	e := w.next("b")
	later := journal.Entry{Seq: e.Seq + 1, Epoch: w.epoch, Prev: position(t, e).Chain, Batch: []byte("c")}
	if err := j.Append(t.Context(), later); !errors.Is(err, errs.Conflict) {
		t.Errorf("an entry whose predecessor is missing: %v", err)
	}
	wrong := e
	wrong.Prev++
	if err := j.Append(t.Context(), wrong); !errors.Is(err, errs.Corrupt) {
		t.Errorf("an entry that follows another one: %v", err)
	}
	w.append(t, "b")
	if err := j.Append(t.Context(), later); err != nil {
		t.Errorf("the later entry in its turn: %v", err)
	}
	if got := fmt.Sprint(read(t, j, 1, 3)); got != "[a b c]" {
		t.Errorf("the journal has %s", got)
	}
	b, err := j.Bounds(t.Context())
	if err != nil || b.First != first.Seq || b.Last != position(t, later) || b.Epoch != w.epoch {
		t.Errorf("bounds %+v, %v", b, err)
	}
}

func fence(t *testing.T, j journal.Journal) {
	if err := j.Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	old := begin(t, j)
	old.append(t, "a")
	news := make(chan error, 1)
	go func() { news <- j.AwaitNewer(t.Context(), old.epoch) }()
	select {
	case err := <-news:
		t.Errorf("a newer epoch, without one: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	young := begin(t, j)
	if err := <-news; err != nil {
		t.Errorf("the older writer is not told: %v", err)
	}
	if err := j.AwaitNewer(t.Context(), old.epoch); err != nil { // it was before the call
		t.Error(err)
	}
	if young.epoch <= old.epoch || young.last != old.last {
		t.Errorf("epoch %d after %d, at %+v after %+v", young.epoch, old.epoch, young.last, old.last)
	}
	if err := j.Append(t.Context(), old.next("stale")); !errors.Is(err, errs.Fenced) {
		t.Errorf("append of the older writer: %v", err)
	}
	young.append(t, "b")
	if err := j.Append(t.Context(), old.next("stale")); !errors.Is(err, errs.Fenced) {
		t.Errorf("append of the older writer, whose number is taken: %v", err)
	}
	if got := fmt.Sprint(read(t, j, 1, 2)); got != "[a b]" {
		t.Errorf("the journal has %s", got)
	}
}

func follow(t *testing.T, j journal.Journal) {
	if err := j.Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	w := begin(t, j)
	const count = 40
	for i := range count / 2 {
		w.append(t, fmt.Sprint(i+1))
	}
	var wg sync.WaitGroup
	for from := uint64(1); from <= count/2+1; from += 5 {
		wg.Go(func() {
			for i, word := range read(t, j, from, count) {
				if word != fmt.Sprint(from+uint64(i)) {
					t.Errorf("from %d: entry %d is %s", from, from+uint64(i), word)
				}
			}
		})
	}
	for i := range count / 2 {
		w.append(t, fmt.Sprint(count/2+i+1))
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := j.Follow(ctx, count+1, func(journal.Entry) error { return errEnough }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("follow without news: %v", err)
	}
	if err := j.Follow(t.Context(), 3, func(journal.Entry) error { return errEnough }); !errors.Is(err, errEnough) {
		t.Errorf("the error of visit: %v", err)
	}
}

func trim(t *testing.T, j journal.Journal) {
	if err := j.Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	w := begin(t, j)
	for i := range 10 {
		w.append(t, fmt.Sprint(i+1))
	}
	seen, far := make(chan uint64, 100), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { // a follower that is at 7 while the journal is trimmed, and goes on
		_ = j.Follow(ctx, 7, func(e journal.Entry) error {
			seen <- e.Seq
			if e.Seq == 7 {
				<-far
			}
			return nil
		})
	})
	<-seen
	if err := j.Trim(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	close(far)
	for want := uint64(8); want <= 10; want++ {
		if got := <-seen; got != want {
			t.Errorf("the follower got %d, not %d", got, want)
		}
	}
	for _, from := range []uint64{1, 7} {
		if err := j.Follow(t.Context(), from, nil); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
			t.Errorf("follow from %d: %v", from, err)
		}
	}
	if got := fmt.Sprint(read(t, j, 8, 10)); got != "[8 9 10]" {
		t.Errorf("the journal has %s", got)
	}
	if err := errors.Join(j.Trim(t.Context(), 3), j.Trim(t.Context(), 1<<40)); err != nil { // nothing, then all
		t.Fatal(err)
	}
	if b, err := j.Bounds(t.Context()); err != nil || b.First != 11 || b.Last != w.last {
		t.Errorf("bounds %+v, %v", b, err)
	}
	again := begin(t, j) // the end is known without an entry
	if again.last != w.last {
		t.Errorf("begins at %+v, not %+v", again.last, w.last)
	}
	again.append(t, "11")
	if got := <-seen; got != 11 {
		t.Errorf("the follower got %d, not 11", got)
	}
	cancel()
	wg.Wait()
}

func limit(t *testing.T, j journal.Journal) {
	if err := j.Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	w := begin(t, j)
	if err := j.Append(t.Context(), w.next(string(make([]byte, journal.BatchMax+1)))); !errors.Is(err, errs.TooLarge) {
		t.Errorf("a batch that is too large: %v", err)
	}
	big := bytes.Repeat([]byte{'b'}, journal.BatchMax)
	w.append(t, string(big))
	w.append(t, "")
	if got := read(t, j, 1, 2); got[0] != string(big) || got[1] != "" {
		t.Errorf("read %d and %d bytes", len(got[0]), len(got[1]))
	}
}

// race lets writers take over from each other while all append. Each that was told "there" must be there, once, and what a fenced one was
// told must hold.
func race(t *testing.T, j journal.Journal) {
	if err := j.Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	const writers, each = 3, 12
	var mu sync.Mutex
	acknowledged := make(map[uint64]string)
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				epoch, last, err := j.Begin(t.Context(), fmt.Sprint(g))
				if err != nil {
					t.Error(err)
					return
				}
				w := &writer{j, epoch, last}
				for range 4 {
					e := w.next(fmt.Sprintf("%d.%d.%d", g, epoch, done))
					err := j.Append(t.Context(), e)
					if errors.Is(err, errs.Fenced) {
						break
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if other, ok := acknowledged[e.Seq]; ok {
						t.Errorf("number %d was given to %s and %s", e.Seq, other, e.Batch)
					}
					acknowledged[e.Seq] = string(e.Batch)
					mu.Unlock()
					w.last = position(t, e)
					done++
				}
			}
		})
	}
	wg.Wait()
	b, err := j.Bounds(t.Context())
	if err != nil || b.Last.Seq != uint64(len(acknowledged)) {
		t.Fatalf("the journal has %d entries, %d were acknowledged, %v", b.Last.Seq, len(acknowledged), err)
	}
	for i, word := range read(t, j, 1, b.Last.Seq) {
		if acknowledged[uint64(i)+1] != word {
			t.Errorf("entry %d is %s, and %s was acknowledged", i+1, word, acknowledged[uint64(i)+1])
		}
	}
}
