package namespace

import (
	"context"
	"testing"

	"hemera"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
)

// held is a store that holds back what is given to it, until it is told to go on.
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

// asked is a change that says when it was made.
func asked(ctx context.Context, n *Namespace, fn func(t *tx) error) (r *request, ran, answered chan struct{}) {
	ran, answered = make(chan struct{}), make(chan struct{})
	r = &request{ctx: ctx, fn: func(t *tx) error {
		defer close(ran)
		return fn(t)
	}}
	go func() {
		n.apply(r)
		close(answered)
	}()
	return r, ran, answered
}

// openHeld is a namespace whose store is held from the next batch on.
func openHeld(t *testing.T) (*held, *Namespace) {
	t.Helper()
	h := &held{memkv.New(), make(chan struct{}, 8), make(chan struct{}, 8)}
	h.resume <- struct{}{}
	n, err := Open(t.Context(), h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	<-h.entered
	return h, n
}

// TestAGroupIsMadeWhileTheLastIsSent: a change sees what is on its way to the store, a refusal that
// rests on it waits for it, and what rests on nothing of it does not.
func TestAGroupIsMadeWhileTheLastIsSent(t *testing.T) {
	ctx := t.Context()
	h, n := openHeld(t)
	who := hemera.Identity{Admin: true}
	mkdir := func(path string, id uint64) func(t *tx) error {
		return func(t *tx) error {
			f, err := t.walk("Mkdir", who, path)
			if err == nil && f.entry != nil {
				err = refuse(errs.Exists, "Mkdir", path, "taken")
			}
			if err == nil {
				_, err = t.mkdir(who, path, f, id, 0o755)
			}
			return err
		}
	}
	first, _, firstDone := asked(ctx, n, mkdir("/a", 100))
	<-h.entered // it is being sent, and nobody else can see it
	second, ran, secondDone := asked(ctx, n, mkdir("/a", 101))
	<-ran
	if _, err := n.Stat(ctx, who, "/a"); errs.KindOf(err) != errs.NotFound {
		t.Errorf("a reader sees what is not in the store: %v", err)
	}
	select {
	case <-secondDone:
		t.Error("the refusal did not wait for what it rests on")
	default:
	}
	h.resume <- struct{}{}
	<-firstDone
	<-secondDone
	if first.err != nil || errs.KindOf(second.err) != errs.Exists {
		t.Errorf("answers: %v, %v", first.err, second.err)
	}
	if first.ticket == nil || second.ticket == nil || second.ticket.Seq() != first.ticket.Seq() {
		t.Errorf("the refusal waits for %v, the change for %v", second.ticket, first.ticket)
	}
	h.resume <- struct{}{}
	third, _, thirdDone := asked(ctx, n, mkdir("/a/b", 102))
	<-thirdDone
	if third.err != nil {
		t.Error(third.err)
	}
	root, err := n.Stat(ctx, who, "/")
	if err != nil || root.Tree.Dirs != 2 {
		t.Errorf("the root: %+v, %v", root.Tree, err)
	}
}

// TestNothingIsInABatchAfterWhatAsksForItsInstant: what is to run right after a change finds the store
// as the change left it, whatever waits behind it.
func TestNothingIsInABatchAfterWhatAsksForItsInstant(t *testing.T) {
	ctx := t.Context()
	h, n := openHeld(t)
	put := func(name string) func(t *tx) error {
		return func(t *tx) error {
			t.mark([]byte("nz" + name))
			return nil
		}
	}
	_, _, done := asked(ctx, n, put("0"))
	<-h.entered
	there := func(name string) bool {
		_, err := h.Get(ctx, []byte("nz"+name))
		return err == nil
	}
	var requests []*request
	for _, name := range []string{"1", "2", "3"} {
		r := &request{ctx: ctx, fn: put(name)}
		r.done.Add(1)
		requests = append(requests, r)
	}
	requests[1].then = func() {
		if !there("1") || !there("2") || there("3") {
			t.Errorf("right after 2: %t %t %t", there("1"), there("2"), there("3"))
		}
	}
	n.queueMu.Lock()
	n.queue = append(n.queue, requests...)
	lead := !n.leading
	n.leading = true
	n.queueMu.Unlock()
	if lead {
		go n.lead()
	}
	close(h.resume)
	<-done
	for _, r := range requests {
		if n.await(r); r.err != nil {
			t.Error(r.err)
		}
	}
	if !there("3") {
		t.Error("what came behind was lost")
	}
}
