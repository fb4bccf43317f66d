package record

import (
	"context"
	"errors"
	"testing"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
)

// held is a store that holds back what is given to it until the test lets it go on.
type held struct {
	kv.Store
	entered, resume chan struct{}
}

func (h *held) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := h.Store.Acquire(ctx, owner)
	return heldWriter{w, h}, err
}

type heldWriter struct {
	kv.Writer
	h *held
}

func (w heldWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	w.h.entered <- struct{}{}
	<-w.h.resume
	return w.Writer.Enqueue(b)
}

// asked returns a change that says when it was made.
func asked(ctx context.Context, s *Store, fn func(t *Txn) error) (r *request, ran, answered chan struct{}) {
	ran, answered = make(chan struct{}), make(chan struct{})
	r = &request{ctx: ctx, fn: func(t *Txn) error {
		defer close(ran)
		return fn(t)
	}}
	go func() {
		s.apply(r)
		close(answered)
	}()
	return r, ran, answered
}

// openHeld returns a store whose engine holds back every batch.
func openHeld(t *testing.T) (*held, *Store) {
	t.Helper()
	h := &held{memkv.New(), make(chan struct{}, 8), make(chan struct{}, 8)}
	return h, openTest(t, h)
}

var errTaken = errors.New("taken")

// TestAGroupIsMadeWhileTheLastIsSent: a change sees what is on its way to the engine, a refusal that
// rests on it waits for it, and what rests on nothing of it does not.
func TestAGroupIsMadeWhileTheLastIsSent(t *testing.T) {
	ctx := t.Context()
	h, s := openHeld(t)
	create := func(key string) func(t *Txn) error {
		return func(t *Txn) error {
			v, err := Get(t, []byte(key), decodeText)
			if err == nil && v != nil {
				err = errTaken
			}
			if err == nil {
				err = put(key, "there")(t)
			}
			return err
		}
	}
	first, _, firstDone := asked(ctx, s, create("nea"))
	<-h.entered // it is being sent, and nobody else can see it
	second, ran, secondDone := asked(ctx, s, create("nea"))
	<-ran
	if read(t, s, "nea") != "" {
		t.Error("a reader sees what is not in the engine")
	}
	select {
	case <-secondDone:
		t.Error("the refusal did not wait for what it rests on")
	default:
	}
	h.resume <- struct{}{}
	<-firstDone
	<-secondDone
	if first.err != nil || !errors.Is(second.err, errTaken) {
		t.Errorf("answers: %v, %v", first.err, second.err)
	}
	if first.ticket == nil || second.ticket == nil || second.ticket.Seq() != first.ticket.Seq() {
		t.Errorf("the refusal waits for %v, the change for %v", second.ticket, first.ticket)
	}
	h.resume <- struct{}{}
	third, _, thirdDone := asked(ctx, s, create("neb"))
	<-thirdDone
	if third.err != nil {
		t.Error(third.err)
	}
	if read(t, s, "nea") != "there" || read(t, s, "neb") != "there" {
		t.Error("what was answered is not seen")
	}
}

// TestNothingIsInABatchAfterWhatAsksForItsInstant: what is to run right after a change finds the engine
// as the change left it, whatever waits behind it.
func TestNothingIsInABatchAfterWhatAsksForItsInstant(t *testing.T) {
	ctx := t.Context()
	h, s := openHeld(t)
	mark := func(name string) func(t *Txn) error {
		return func(t *Txn) error {
			t.Mark([]byte("nz" + name))
			return nil
		}
	}
	_, _, done := asked(ctx, s, mark("0"))
	<-h.entered
	there := func(name string) bool {
		_, err := h.Get(ctx, []byte("nz"+name))
		return err == nil
	}
	var requests []*request
	for _, name := range []string{"1", "2", "3"} {
		r := &request{ctx: ctx, fn: mark(name)}
		r.done.Add(1)
		requests = append(requests, r)
	}
	requests[1].then = func() {
		if !there("1") || !there("2") || there("3") {
			t.Errorf("right after 2: %t %t %t", there("1"), there("2"), there("3"))
		}
	}
	if s.queue.push(requests...) {
		go s.lead()
	}
	close(h.resume)
	<-done
	for _, r := range requests {
		if s.await(r); r.err != nil {
			t.Error(r.err)
		}
	}
	if !there("3") {
		t.Error("what came behind was lost")
	}
}
