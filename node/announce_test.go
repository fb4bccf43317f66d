package node

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// announced takes announcements as a manager does.
type announced struct {
	mu    sync.Mutex
	pages []hemera.Announcement
	fails []error // answers of the next calls
}

func (a *announced) Announce(_ context.Context, p hemera.Announcement) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.fails) > 0 {
		err := a.fails[0]
		a.fails = a.fails[1:]
		if err != nil {
			return err
		}
	}
	a.pages = append(a.pages, p)
	return nil
}

// take returns the pages since the last call, and the number of their writes.
func (a *announced) take() (pages []hemera.Announcement, writes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pages, a.pages = a.pages, nil
	for _, p := range pages {
		writes += len(p.Writes)
	}
	return pages, writes
}

// fail sets the answers of the next calls.
func (a *announced) fail(fails ...error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails = fails
}

// TestWritesUnderWayAreAnnounced with each new lease, in pages, until the manager has them.
func TestWritesUnderWayAreAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a := newControl(), &announced{}
		o := options(t, c, t.TempDir())
		o.Writes = a
		n, stop := running(t, o)
		defer stop()
		<-n.Joined()
		var mu sync.Mutex
		next := hemera.Capability{Access: hemera.AccessCreate, Layout: hemera.Plain(), Gen: 1, Targets: []hemera.Target{{Disk: 1, Node: 5}}}
		n.o.Verify = func(string) (hemera.Capability, error) {
			mu.Lock()
			defer mu.Unlock()
			next.File++
			next.Nonce++
			return next, nil
		}
		begin := func(epoch hemera.Epoch) hemera.File {
			t.Helper()
			mu.Lock()
			next.Epoch = epoch
			mu.Unlock()
			f, err := n.Open(t.Context(), hemera.ParsePermit("x"), hemera.NodeOpen{Truncate: true})
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		const many = hemera.AnnouncedMax + 10
		var files []hemera.File
		for range many {
			files = append(files, begin(1))
		}
		time.Sleep(2 * time.Second)
		if pages, _ := a.take(); len(pages) != 0 {
			t.Errorf("announced under their own lease: %d pages", len(pages))
		}
		promised := func() int {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.hellos[len(c.hellos)-1].Writes
		}
		relet := func(wait time.Duration) {
			c.set(func() { c.epoch += 10 })
			time.Sleep(wait)
		}
		relet(3 * time.Second)
		pages, writes := a.take()
		if len(pages) != 2 || writes != many || promised() != many || !pages[0].More || pages[1].More || pages[0].Node != 5 || pages[0].Epoch != n.host.Born()+11 {
			t.Fatalf("%d pages, %d writes, %d promised", len(pages), writes, promised())
		}
		// A lost answer has the page said again; a refusal does not.
		a.fail(errs.New(errs.Unavailable, "a", "", "lost"), nil, errs.New(errs.Internal, "a", "", "odd"))
		relet(5 * time.Second)
		if pages, writes := a.take(); len(pages) != 1 || writes != hemera.AnnouncedMax {
			t.Errorf("%d pages, %d writes", len(pages), writes)
		}
		// A client that comes late, and one whose grant is of this lease.
		files = append(files, begin(2), begin(hemera.Epoch(n.epoch.Load())))
		time.Sleep(time.Second)
		if pages, writes := a.take(); len(pages) != 1 || writes != 1 {
			t.Errorf("%d pages, %d writes", len(pages), writes)
		}
		// An earlier manager has no such call: the node goes on without.
		a.fail(errs.New(errs.Unsupported, "a", "", "404"))
		relet(5 * time.Second)
		hellos, _ := c.seen()
		time.Sleep(5 * time.Second)
		if pages, _ := a.take(); len(pages) != 0 {
			t.Errorf("%d pages", len(pages))
		}
		if after, _ := c.seen(); after != hellos {
			t.Error("the node registers again and again")
		}
		// A lease that is over ends the session.
		a.fail(errs.New(errs.Fenced, "a", "", "over"))
		relet(5 * time.Second)
		if _, writes := a.take(); writes != many+2 {
			t.Errorf("%d writes after a lease that was over at once", writes)
		}
		for _, f := range files {
			_ = f.End(t.Context(), hemera.EndAbort)
		}
		relet(3 * time.Second)
		if pages, _ := a.take(); len(pages) != 0 || promised() != 0 {
			t.Errorf("%d pages of nothing, %d promised", len(pages), promised())
		}
	})
}
