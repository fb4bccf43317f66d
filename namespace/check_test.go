package namespace_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/measure/nsload"
	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

func be(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// change plants a record behind the namespace's back; without a value it takes one away.
type change struct {
	key   string
	value func(old string) string
}

func gone(key string) change { return change{key: key} }

func plant(t *testing.T, s kv.Store, changes []change) {
	t.Helper()
	w := must[kv.Writer](t)(s.Acquire(t.Context(), "test"))
	b := new(kv.Batch)
	for _, c := range changes {
		old, err := s.Get(t.Context(), []byte(c.key))
		if c.value == nil {
			if err != nil {
				t.Fatalf("%q: %v", c.key, err)
			}
			b.Delete([]byte(c.key))
			continue
		}
		b.Put([]byte(c.key), []byte(c.value(string(old))))
	}
	must[kv.Ticket](t)(w.Enqueue(b))
}

// patient returns a small tree with one of everything. Directory /d has id 2, /d/e 3; file /d/f is 4, of
// which generation 1 is to be removed and generation 6 lacks a piece; /d/e/g is 5.
func patient(t *testing.T) kv.Store {
	t.Helper()
	s := memkv.New()
	n := open(t, s, namespace.Options{})
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/d", 0o755, false))
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/d/e", 0o755, false))
	put(t, n, alice(), "/d/f", 100)
	put(t, n, alice(), "/d/e/g", 100)
	c := prepare(t, n, alice(), "/d/f")
	c.Size, c.Pieces = 50, c.Pieces[:1]
	must[hemera.Entry](t)(n.Writes.Commit(t.Context(), c))
	if c.ID != 4 || c.Gen != 6 {
		t.Fatalf("the file is %d, generation %d", c.ID, c.Gen)
	}
	checked(t, n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCheckNamesACachedDamage: a cached record that the store does not have is found.
func TestCheckNamesACachedDamage(t *testing.T) {
	s := patient(t)
	n := open(t, s, namespace.Options{})
	must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/d/e/g"))
	plant(t, s, []change{{"ne" + be(3) + "g", func(v string) string { return v[:3] + "\xff\x01" + v[5:] }}})
	problems := must[[]string](t)(n.Inspection.Check(t.Context()))
	if !strings.Contains(strings.Join(problems, "\n"), fmt.Sprintf("cached record %x differs", "ne"+be(3)+"g")) {
		t.Errorf("problems: %q", problems)
	}
}

// TestCheckBesideWriters: a check that runs while everything changes finds nothing wrong.
func TestCheckBesideWriters(t *testing.T) {
	s := memkv.New()
	loadTree(t, s, "/load", nsload.Shape{Files: 3000, FilesPerDir: 50, Size: 10, Disks: []hemera.DiskID{1, 2, 3}})
	n := open(t, s, namespace.Options{CacheBytes: 1 << 20})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil && i < 2000; i++ {
				p := fmt.Sprintf("/load/run%06d/new%d", (i*7+g)%60, i%13)
				_, _ = n.Tree.Mkdir(ctx, boss(), p, 0o755, false)
				_ = n.Tree.Rename(ctx, boss(), p, fmt.Sprintf("/load/moved%d-%d", g, i))
				_ = n.Tree.Remove(ctx, boss(), fmt.Sprintf("/load/run%06d/evt-%06d.root", (i+g)%60, i%50), hemera.KindFile)
			}
		})
	}
	var progress []adminapi.NamespaceCheck
	for range 5 {
		report, err := n.Inspection.CheckWith(t.Context(), namespace.CheckOptions{Workers: 3, Progress: func(c adminapi.NamespaceCheck) { progress = append(progress, c) }})
		if err != nil || !report.Healthy() {
			t.Errorf("%+v, %v", report, err)
		}
	}
	stop()
	wg.Wait()
	if len(progress) == 0 || progress[0].Done || progress[0].Took > time.Hour {
		t.Errorf("progress %+v", progress)
	}
	checked(t, n)
}
