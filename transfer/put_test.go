package transfer_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestSmallFailures: a content that is in memory alone until its close gets over every disk that fails
// then, also the only one, as long as there is another.
func TestSmallFailures(t *testing.T) {
	gone := func(step string) *fault { return &fault{step: step, err: errGone} }
	full := &fault{step: "write", err: errs.New(errs.NoSpace, "disk", "", "full")}
	for _, c := range []struct {
		name  string
		min   int
		on    []int
		disk1 *fault
		peers map[int]*fault
		spare []int
		have  []int     // disks with a piece; nil: the close fails
		kind  errs.Kind // so
	}{
		{name: "nothing", min: 3, on: []int{1, 2, 3}, have: []int{1, 2, 3}},
		{name: "one piece, elsewhere", min: 1, on: []int{2}, have: []int{2}},
		{name: "only disk cannot begin, spare", min: 1, on: []int{1}, disk1: gone("create"), spare: []int{4}, have: []int{4}},
		{name: "only disk is full, spare", min: 1, on: []int{1}, disk1: full, spare: []int{4}, have: []int{4}},
		{name: "only disk dies at seal, spare", min: 1, on: []int{1}, disk1: gone("seal"), spare: []int{4}, have: []int{4}},
		{name: "only disk is full, no spare", min: 1, on: []int{1}, disk1: full, kind: errs.NoSpace},
		{name: "spares die too", min: 1, on: []int{1}, disk1: gone("seal"), peers: map[int]*fault{4: gone("create"), 5: gone("seal")}, spare: []int{4, 5, 3}, have: []int{3}},
		{name: "more spares die than are asked for", min: 1, on: []int{1}, disk1: gone("seal"),
			peers: map[int]*fault{2: gone("create"), 4: gone("create"), 5: gone("seal")}, spare: []int{4, 5, 2, 3}, kind: errs.Unavailable},
		{name: "peer cannot begin, spare", min: 3, on: []int{1, 2, 3}, peers: map[int]*fault{2: gone("create")}, spare: []int{4}, have: []int{1, 3, 4}},
		{name: "peer dies at the write, no spare", min: 2, on: []int{1, 2, 3}, peers: map[int]*fault{2: gone("write")}, have: []int{1, 3}},
		{name: "peer dies at seal, below the minimum", min: 3, on: []int{1, 2, 3}, peers: map[int]*fault{2: gone("seal")}, kind: errs.Unavailable},
		{name: "all die, one spare", min: 1, on: []int{1, 2}, disk1: gone("create"), peers: map[int]*fault{2: gone("seal")}, spare: []int{4, 5}, have: []int{4, 5}},
		{name: "all die", min: 1, on: []int{1, 2}, disk1: gone("create"), peers: map[int]*fault{2: gone("seal")}, kind: errs.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newMemoryBench(t, 5)
			b.manager.spare = c.spare
			b.hosts[0].disk.fault = c.disk1
			for id, f := range c.peers {
				b.peers.fail(id, f)
			}
			token, capability := b.grant(20, c.min, c.on...)
			f := b.begin(1, token)
			p := content(5000)
			if err := writeAll(f, p, 3000); err != nil {
				t.Fatal(err)
			}
			err := f.End(ctx, hemera.EndClose)
			b.hosts[0].disk.fault = nil
			for id := range c.peers {
				b.peers.fail(id, nil)
			}
			b.mustHave(capability, c.have...)
			if c.have == nil {
				if !isKind(err, c.kind) || b.manager.aborted != 1 {
					t.Errorf("%v, want %v; the manager heard of %d aborts", err, c.kind, b.manager.aborted)
				}
				// To write again helps after a loss, and not where there is no room.
				if full := c.kind == errs.NoSpace; strings.Contains(errs.RemedyOf(err), "write the file again") == full {
					t.Errorf("the remedy of %v is %q", err, errs.RemedyOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkSums(t, b.manager.commit(t, capability), p)
			b.mustRead(capability, p)
		})
	}
}

// TestSmallDiskHangs: the only disk of a short content does not answer at its close: the piece moves to
// another one, and when the disk answers again nothing of it is left there.
func TestSmallDiskHangs(t *testing.T) {
	for name, hang := range map[string]vfs.Fault{
		"begin":          {Ops: []vfs.Op{vfs.OpOpen}, Pattern: "/disk/pending/*", Err: syscall.EIO},
		"begin and late": {Ops: []vfs.Op{vfs.OpOpen}, Pattern: "/disk/pending/*"},
		"write":          {Ops: []vfs.Op{vfs.OpWrite}, Err: syscall.EIO},
		"seal and late":  {Ops: []vfs.Op{vfs.OpSync}},
		"move":           {Ops: []vfs.Op{vfs.OpRename}, Err: syscall.EIO},
		"move and late":  {Ops: []vfs.Op{vfs.OpRename}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, faulty := hangingBench(t, 2)
				synctest.Wait() // the disks have counted their pieces, and lock nothing for that
				b.manager.spare = []int{2}
				_, c := b.grant(30, 1, 1)
				c.Sync = true
				f := b.begin(1, b.manager.sign(c))
				release := make(chan struct{})
				hang.Wait = release
				faulty.Inject(hang)
				p := content(5000)
				if err := f.WritePages(p, nil, 0); err != nil {
					t.Fatal(err)
				}
				if err := f.End(ctx, hemera.EndClose); err != nil {
					t.Fatal(err)
				}
				own := b.hosts[0].disk.Store
				if s := own.Status(); s.Health != hemera.HealthFailing || !strings.Contains(s.Why, "not answered since") {
					t.Errorf("while it hangs the disk is %v: %s", s.Health, s.Why)
				}
				faulty.Heal()
				close(release)
				synctest.Wait()
				if names, err := faulty.ReadDir("/disk/pending"); err != nil || len(names) > 0 {
					t.Errorf("left on the disk: %v, %v", names, err)
				}
				b.mustHave(c, 2)
				b.mustRead(c, p)
			})
		})
	}
}

// TestSmallWaitsInMemory: a short content touches no disk before it is synced, grows or is closed, and
// who comes back to it finds it.
func TestSmallWaitsInMemory(t *testing.T) {
	b, faulty := hangingBench(t, 1)
	changes := func() int { return faulty.Calls(vfs.Changes()...) }
	pending := func() int {
		names, err := faulty.ReadDir("/disk/pending")
		if err != nil {
			t.Fatal(err)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".synced") })
		return len(names)
	}
	p := content(60_000)
	for name, then := range map[string]struct {
		do      func(f hemera.File) error
		want    []byte
		pieces  int // after do
		changes int // at the close
	}{
		"closed": {func(hemera.File) error { return nil }, p, 0, 3},           // open, write, rename
		"synced": {func(f hemera.File) error { return f.Sync(ctx) }, p, 1, 3}, // the checksums of the sync go
		"grown":  {func(f hemera.File) error { return f.WritePages(p, nil, 60_000) }, append(bytes.Clone(p), p...), 1, 2},
		"cut":    {func(f hemera.File) error { return f.Truncate(5000) }, p[:5000], 0, 3},
		"empty":  {func(f hemera.File) error { return f.Truncate(0) }, []byte{}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			first, _ := b.grant(71, 1, 1) // makes the directory
			if f := b.begin(1, first); f.WritePages(p, nil, 0) != nil || f.End(ctx, hemera.EndClose) != nil {
				t.Fatal("the first file")
			}
			token, c := b.grant(70, 1, 1)
			f := b.begin(1, token)
			before := changes()
			if err := writeAll(f, p, 7000); err != nil {
				t.Fatal(err)
			}
			if n := changes() - before; n != 0 || pending() != 0 {
				t.Errorf("%d changes of the disk", n)
			}
			f.End(ctx, hemera.EndDetach)
			f = b.open(1, token, hemera.NodeOpen{})
			got, err := io.ReadAll(io.NewSectionReader(readerAt{f}, 0, 1<<20))
			if err != nil || !bytes.Equal(got, p) {
				t.Fatalf("read back: %d bytes, %v", len(got), err)
			}
			if err := then.do(f); err != nil || pending() != then.pieces {
				t.Fatalf("%d pieces pending, %v", pending(), err)
			}
			before = changes()
			if err := f.End(ctx, hemera.EndClose); err != nil || pending() != 0 {
				t.Fatalf("%d pieces pending, %v", pending(), err)
			}
			if n := changes() - before; n != then.changes {
				t.Errorf("the close changed the disk %d times, not %d", n, then.changes)
			}
			checkSums(t, b.manager.commit(t, c), then.want)
			b.mustRead(c, then.want)
		})
	}
}
