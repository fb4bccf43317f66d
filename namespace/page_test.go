package namespace_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// still is a store in which a reading of a range may stand still in the middle.
type still struct {
	kv.Store
	armed  atomic.Bool // once
	at, on chan struct{}
}

func (s *still) Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error {
	armed := s.armed.CompareAndSwap(true, false)
	return s.Store.Scan(ctx, lo, hi, func(k, v []byte) bool {
		if armed {
			armed = false
			s.at <- struct{}{}
			<-s.on
		}
		return visit(k, v)
	})
}

// TestPagesHoldUpNobody: whatever a page takes to be read, changes of the same directory are made and
// acknowledged meanwhile.
func TestPagesHoldUpNobody(t *testing.T) {
	s := &still{Store: memkv.New(), at: make(chan struct{}), on: make(chan struct{})}
	n := open(t, s, namespace.Options{})
	var want []string
	for i := range 50 {
		name := fmt.Sprintf("f%02d", i)
		put(t, n, alice(), "/"+name, 1)
		want = append(want, name)
	}
	top := must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/"))
	s.armed.Store(true)
	listed := make(chan []string)
	go func() {
		var got []string
		for after := ""; ; {
			page, next, err := n.Tree.Page(t.Context(), alice(), hemera.PageRequest{Dir: top, After: after, Limit: 7})
			if err != nil || len(page) > 7 {
				t.Error(len(page), err)
			}
			for _, e := range page {
				got = append(got, e.Name)
			}
			if after = next; after == "" {
				break
			}
		}
		listed <- got
	}()
	<-s.at
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/a", 0o755, false))
	if err := n.Tree.SetMode(t.Context(), alice(), "/f00", 0o600); err != nil {
		t.Error(err)
	}
	close(s.on)
	if got := <-listed; !slices.Equal(slices.DeleteFunc(got, func(s string) bool { return s == "a" }), want) {
		t.Errorf("%q", got)
	}
}

func TestPageKeepsToPermissions(t *testing.T) {
	n := fresh(t)
	dir := must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/d", 0o700, false))
	below := must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/d/below", 0o755, false))
	file := put(t, n, alice(), "/f", 1)
	for _, test := range []struct {
		name string
		r    hemera.PageRequest
		want errs.Kind
	}{
		{"a directory that may not be listed", hemera.PageRequest{Dir: dir, Path: "/d", Limit: 1}, errs.Denied},
		{"one below a directory that may not be traversed", hemera.PageRequest{Dir: below, Above: dir, Path: "/d/below", Limit: 1}, errs.Denied},
		{"a file", hemera.PageRequest{Dir: file, Path: "/f", Limit: 1}, errs.NotDirectory},
	} {
		_, _, err := n.Tree.Page(t.Context(), bob(), test.r)
		wantKind(t, test.name, err, test.want)
		if err != nil && !strings.HasPrefix(err.Error(), "namespace.List "+test.r.Path+": ") {
			t.Errorf("%s: the error does not name it: %v", test.name, err)
		}
	}
	if err := n.Tree.Remove(t.Context(), alice(), "/d/below", 0); err != nil {
		t.Fatal(err)
	}
	if page, next, err := n.Tree.Page(t.Context(), alice(), hemera.PageRequest{Dir: below, Above: dir, Limit: 1}); err != nil || len(page) > 0 || next != "" {
		t.Errorf("a removed directory: %v, %q, %v", page, next, err)
	}
}
