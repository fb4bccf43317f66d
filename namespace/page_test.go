package namespace_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"hemera"
	"hemera/errs"
	"hemera/kv"
	"hemera/kv/memkv"
	"hemera/namespace"
)

// stuck is a store in which a change may stand still at the moment it is enqueued, when its maker has
// the turn of all changes.
type stuck struct {
	kv.Store
	armed  atomic.Bool // once
	at, on chan struct{}
}

type stuckWriter struct {
	kv.Writer
	s *stuck
}

func (s *stuck) Acquire(ctx context.Context, owner string) (kv.Writer, error) {
	w, err := s.Store.Acquire(ctx, owner)
	return stuckWriter{w, s}, err
}

func (w stuckWriter) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	if w.s.armed.CompareAndSwap(true, false) {
		w.s.at <- struct{}{}
		<-w.s.on
	}
	return w.Writer.Enqueue(b)
}

// TestPagesTakeNoTurn: directories are read while a change is being made, which would hold up whoever
// needs the changes' lock.
func TestPagesTakeNoTurn(t *testing.T) {
	s := &stuck{Store: memkv.New(), at: make(chan struct{}), on: make(chan struct{})}
	n := open(t, s, namespace.Options{})
	var want []string
	for i := range 50 {
		name := fmt.Sprintf("f%02d", i)
		put(t, n, alice(), "/"+name, 1)
		want = append(want, name)
	}
	top := must[hemera.Entry](t)(n.Stat(t.Context(), alice(), "/"))
	s.armed.Store(true)
	made := make(chan error, 1)
	go func() { made <- n.SetMode(t.Context(), alice(), "/f00", 0o600) }()
	<-s.at
	var got []string
	for after := ""; ; {
		page, next, err := n.Page(t.Context(), alice(), hemera.PageRequest{Dir: top, After: after, Limit: 7})
		if err != nil || len(page) > 7 {
			t.Fatal(len(page), err)
		}
		for _, e := range page {
			got = append(got, e.Name)
		}
		if after = next; after == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	close(s.on)
	if err := <-made; err != nil {
		t.Error(err)
	}
}

func TestPageKeepsToPermissions(t *testing.T) {
	n := fresh(t)
	dir := must[hemera.Entry](t)(n.Mkdir(t.Context(), alice(), "/d", 0o700, false))
	below := must[hemera.Entry](t)(n.Mkdir(t.Context(), alice(), "/d/below", 0o755, false))
	file := put(t, n, alice(), "/f", 1)
	for _, test := range []struct {
		name string
		r    hemera.PageRequest
		want errs.Kind
	}{
		{"a directory that may not be listed", hemera.PageRequest{Dir: dir, Limit: 1}, errs.Denied},
		{"one below a directory that may not be traversed", hemera.PageRequest{Dir: below, Above: dir, Limit: 1}, errs.Denied},
		{"a file", hemera.PageRequest{Dir: file, Limit: 1}, errs.NotDirectory},
	} {
		_, _, err := n.Page(t.Context(), bob(), test.r)
		wantKind(t, test.name, err, test.want)
	}
	if err := n.Remove(t.Context(), alice(), "/d/below", 0); err != nil {
		t.Fatal(err)
	}
	if page, next, err := n.Page(t.Context(), alice(), hemera.PageRequest{Dir: below, Above: dir, Limit: 1}); err != nil || len(page) > 0 || next != "" {
		t.Errorf("a removed directory: %v, %q, %v", page, next, err)
	}
}
