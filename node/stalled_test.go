package node

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// stallable has disks in memory whose calls can be made to hang.
type stallable map[string]*vfs.Faulty

func (h stallable) add(t *testing.T, o *Options, path string) {
	t.Helper()
	memory := vfs.NewMemory(0, nil)
	if err := memory.Mkdir(path); err != nil {
		t.Fatal(err)
	}
	h[path] = vfs.NewFaulty(memory)
	o.Disks = append(o.Disks, hemera.AttachDisk{Path: path})
	o.OpenDisk = func(path string, fresh bool) (disk.Store, error) {
		if fresh {
			if _, err := disk.Format(h[path], path); err != nil {
				return nil, err
			}
		}
		return disk.Open(h[path], path, disk.Options{})
	}
}

// TestStalledDiskAndOrders checks that an order that hangs at a disk delays neither orders of other disks nor a new
// lease, and that no later order runs before it on its own disk.
func TestStalledDiskAndOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := newControl(), stallable{}
		o := options(t, c)
		o.Workers = 1
		disks.add(t, &o, "/ill")
		disks.add(t, &o, "/well")
		n, stop := running(t, o)
		defer stop()
		<-n.Joined()
		again := make(chan struct{})
		disks["/ill"].Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRemove}, Wait: again}) // only the order notices
		on := map[string]hemera.DiskID{}
		for _, d := range n.Status().Disks {
			on[d.Path] = d.ID
		}
		c.orders <- []hemera.Order{{ID: 1, Kind: hemera.OrderRemove, Disk: on["/ill"]}, {ID: 2, Kind: hemera.OrderInventory, Disk: on["/well"]}}
		if r := <-c.results; r.ID != 2 || r.Failed {
			t.Errorf("the disk that is well: %+v", r)
		}
		time.Sleep(10 * time.Second)
		c.set(func() { c.epoch = 41 }) // fenced
		time.Sleep(10 * time.Second)
		if e := n.Status().Epoch; e != 42 {
			t.Fatalf("epoch %d after fencing", e)
		}
		c.orders <- []hemera.Order{{ID: 3, Kind: hemera.OrderInventory, Disk: on["/ill"]}, {ID: 4, Kind: hemera.OrderInventory, Disk: on["/well"]}}
		if r := <-c.results; r.ID != 4 || r.Failed {
			t.Errorf("the disk that is well, under the next lease: %+v", r)
		}
		if done := n.Status().Orders; done != 2 {
			t.Errorf("%d orders done while two hang", done)
		}
		close(again)
		if r := <-c.results; r.ID != 3 || r.Failed {
			t.Errorf("the disk that answers again: %+v", r)
		}
		if done := n.Status().Orders; done != 4 {
			t.Errorf("%d orders done of four", done)
		}
	})
}

// TestOrdersForAStalledDisk checks that they are refused at once.
func TestOrdersForAStalledDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := newControl(), stallable{}
		o := options(t, c)
		disks.add(t, &o, "/ill")
		n, stop := running(t, o)
		defer stop()
		<-n.Joined()
		again := make(chan struct{})
		disks["/ill"].Inject(vfs.Fault{Wait: again})
		time.Sleep(5 * time.Second) // a call to the disk hangs
		run := func(id uint64) hemera.OrderResult {
			c.orders <- []hemera.Order{{ID: id, Kind: hemera.OrderInventory, Disk: 1}}
			return <-c.results
		}
		if r := run(1); errs.Kind(r.ErrKind) != errs.Unavailable {
			t.Errorf("while it hangs: %+v", r)
		}
		close(again)
		time.Sleep(time.Second)
		if r := run(2); r.Failed {
			t.Errorf("when it answers: %+v", r)
		}
	})
}

// TestOrdersUnderWayWhenADiskStalls checks that running and waiting orders are answered when the disk counts as stalled.
func TestOrdersUnderWayWhenADiskStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := newControl(), stallable{}
		o := options(t, c)
		o.Workers = 1
		disks.add(t, &o, "/ill")
		n, stop := running(t, o)
		defer stop()
		<-n.Joined()
		again := make(chan struct{})
		disks["/ill"].Inject(vfs.Fault{Wait: again})
		c.orders <- []hemera.Order{{ID: 1, Kind: hemera.OrderRemove, Disk: 1}, {ID: 2, Kind: hemera.OrderInventory, Disk: 1}}
		got := map[uint64]bool{}
		for range 2 {
			r := <-c.results
			if got[r.ID] = true; errs.Kind(r.ErrKind) != errs.Unavailable {
				t.Errorf("while it hangs: %+v", r)
			}
		}
		if !got[1] || !got[2] {
			t.Errorf("answered %v", got)
		}
		close(again)
		time.Sleep(time.Second)
		c.orders <- []hemera.Order{{ID: 3, Kind: hemera.OrderInventory, Disk: 1}}
		for r := range c.results { // those of the first may come late
			if r.ID == 3 {
				if r.Failed {
					t.Errorf("when it answers: %+v", r)
				}
				break
			}
		}
	})
}

// TestManyStalledDisks checks that a node with many hanging disks reports in time, starts, and stops.
func TestManyStalledDisks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := newControl(), stallable{}
		o := options(t, c)
		paths := []string{"/a", "/b", "/c", "/d", "/e", "/f"}
		for _, path := range paths {
			disks.add(t, &o, path)
		}
		n, stop := running(t, o)
		<-n.Joined()
		again := make(chan struct{})
		hang := func() {
			for _, path := range paths[1:] {
				disks[path].Inject(vfs.Fault{Wait: again})
			}
		}
		hang()
		_, before := c.seen()
		time.Sleep(hemera.HeartbeatTimeout)
		hellos, reports := c.seen()
		if hellos != 1 || reports-before < 2 {
			t.Errorf("%d hellos, %d reports in %v", hellos, reports-before, hemera.HeartbeatTimeout)
		}
		ill := 0
		for _, d := range n.Status().Disks {
			if d.Health == hemera.HealthFailing {
				ill++
			}
		}
		if ill != 5 {
			t.Errorf("%d disks are failing, five hang", ill)
		}
		began := time.Now()
		stop()
		if took := time.Since(began); took > 2*stopTimeout {
			t.Errorf("the node took %v to stop", took)
		}
		began = time.Now()
		n, stop = running(t, o)
		if took := time.Since(began); took > openWait {
			t.Errorf("the node took %v to start", took)
		}
		time.Sleep(time.Minute)
		hellos, _ = c.seen()
		if d := n.Status().Disks; hellos != 2 || len(d) != 6 || d[0].Health != hemera.HealthOK || d[1].Health != hemera.HealthGone || d[1].Why == "" {
			t.Errorf("%d hellos, disks %+v", hellos, d)
		}
		close(again)
		time.Sleep(5 * time.Second)
		for _, d := range n.Status().Disks {
			if d.Health != hemera.HealthOK || d.ID == 0 {
				t.Errorf("a disk that answers again: %+v", d)
			}
		}
		stop()
	})
}

// TestChecksumsHaveALaneOfTheirOwn checks that other orders of a disk do not wait for checksums, and that checksums
// without a waiting client are not computed.
func TestChecksumsHaveALaneOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := newControl(), stallable{}
		o := options(t, c)
		o.Workers = 1
		disks.add(t, &o, "/busy")
		n, stop := running(t, o)
		defer stop()
		<-n.Joined()
		slow, again := hemera.PieceID{File: 1, Gen: 1}, make(chan struct{})
		disks["/busy"].Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpOpen}, Pattern: slow.String(), Count: 1, Wait: again})
		c.orders <- []hemera.Order{
			{ID: 1, Kind: hemera.OrderVerify, Disk: 1, Piece: slow, Checksum: hemera.MD5},
			{ID: 2, Kind: hemera.OrderVerify, Disk: 1, Piece: hemera.PieceID{File: 2, Gen: 1}, Checksum: hemera.MD5},
			{ID: 3, Kind: hemera.OrderInventory, Disk: 1},
		}
		if r := <-c.results; r.ID != 3 || r.Failed {
			t.Errorf("beside a checksum: %+v", r)
		}
		c.orders <- []hemera.Order{{ID: 4, Kind: hemera.OrderCancel, Cancels: 2}, {ID: 5, Kind: hemera.OrderInventory, Disk: 1}}
		if r := <-c.results; r.ID != 5 {
			t.Errorf("after the cancel: %+v", r)
		}
		close(again)
		for range 2 {
			r := <-c.results
			if want := map[uint64]errs.Kind{1: errs.NotFound, 2: errs.Cancelled}[r.ID]; errs.Kind(r.ErrKind) != want {
				t.Errorf("%+v, want %v", r, want)
			}
		}
	})
}

// TestAStopWaitsForNoDisk checks a stop while a disk hangs that should get marks.
func TestAStopWaitsForNoDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := newControl(), stallable{}
		o := options(t, c)
		disks.add(t, &o, "/ill")
		disks.add(t, &o, "/well")
		n, stop := running(t, o)
		<-n.Joined()
		again := make(chan struct{})
		disks["/ill"].Inject(vfs.Fault{Wait: again})
		n.Saw(mark(1, 5))
		began := time.Now()
		stop()
		if took := time.Since(began); took > stopTimeout+time.Second {
			t.Errorf("the stop took %s", took)
		}
		close(again)
		d, err := disk.Open(disks["/well"], "/well", disk.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if note, err := d.Noted(); err != nil || !bytes.HasPrefix(note, mark(1, 5)) {
			t.Errorf("the other disk has %x, %v", note, err)
		}
	})
}
