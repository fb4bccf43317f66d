package node

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/procfs"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/transfer/transfertest"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// control is the manager of one node; tests script its answers.
type control struct {
	hemera.Control // not called by these tests

	mu         sync.Mutex
	away       bool
	epoch      hemera.Epoch
	hellos     []hemera.NodeHello
	reports    []hemera.NodeReport
	next       hemera.HeartbeatReply
	orders     chan []hemera.Order
	results    chan hemera.OrderResult
	disksGiven map[string]hemera.DiskID
}

func newControl() *control {
	return &control{orders: make(chan []hemera.Order, 10), results: make(chan hemera.OrderResult, 100), disksGiven: map[string]hemera.DiskID{}}
}

var errAway = errs.New(errs.Unavailable, "rpc", "manager", "away")

func (c *control) Register(_ context.Context, h hemera.NodeHello) (hemera.NodeWelcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return hemera.NodeWelcome{}, errAway
	}
	c.hellos = append(c.hellos, h)
	c.epoch++
	for _, d := range h.Disks {
		if d.UUID != "" && c.disksGiven[d.UUID] == 0 {
			c.disksGiven[d.UUID] = hemera.DiskID(len(c.disksGiven) + 1)
		}
	}
	ids := map[string]hemera.DiskID{}
	for u, id := range c.disksGiven {
		ids[u] = id
	}
	return hemera.NodeWelcome{ID: 5, Epoch: c.epoch, DiskIDs: ids, Keys: []hemera.Key{{ID: 1}}, ManagerAddr: "m:1094"}, nil
}

func (c *control) check(epoch hemera.Epoch) error {
	if c.away {
		return errAway
	}
	if epoch != c.epoch {
		return errs.New(errs.Fenced, "heartbeat", "", "another epoch")
	}
	return nil
}

func (c *control) Heartbeat(_ context.Context, node hemera.NodeID, epoch hemera.Epoch, r hemera.NodeReport) (hemera.HeartbeatReply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.check(epoch); err != nil {
		return hemera.HeartbeatReply{}, err
	}
	c.reports = append(c.reports, r)
	reply := c.next
	c.next = hemera.HeartbeatReply{}
	return reply, nil
}

func (c *control) Exchange(ctx context.Context, _ hemera.NodeID, epoch hemera.Epoch, results []hemera.OrderResult) (none hemera.ExchangeReply, _ error) {
	c.mu.Lock()
	err := c.check(epoch)
	c.mu.Unlock()
	if err != nil {
		return none, err
	}
	for _, r := range results {
		c.results <- r
	}
	if len(results) > 0 {
		return none, nil // more may be done by now
	}
	select {
	case o := <-c.orders:
		return hemera.ExchangeReply{Orders: o}, nil
	case <-time.After(3 * time.Second):
		return none, nil
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (c *control) Abort(context.Context, *hemera.Permit) error { return nil }

func (c *control) Keep(context.Context, *hemera.Permit, int64) error { return nil }

func (c *control) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// seen returns the numbers of registrations and reports so far.
func (c *control) seen() (hellos, reports int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.hellos), len(c.reports)
}

func openDisk(path string, fresh bool) (disk.Store, error) {
	if _, err := disk.ReadLabel(vfs.OS{}, path); fresh && errors.Is(err, errs.NotFound) {
		if _, err := disk.Format(vfs.OS{}, path); err != nil {
			return nil, err
		}
	}
	return disk.Open(vfs.OS{}, path, disk.Options{})
}

func options(t testing.TB, c hemera.Control, paths ...string) Options {
	o := Options{
		Control: c, Peers: transfertest.NewLocalPeers(), Addr: "n:1095", StateDir: filepath.Join(t.TempDir(), "state"),
		Verify:   func(string) (hemera.Capability, error) { return hemera.Capability{}, errs.Denied },
		SetKeys:  func([]hemera.Key) {},
		OpenDisk: openDisk,
	}
	for _, p := range paths {
		o.Disks = append(o.Disks, hemera.AttachDisk{Path: p})
	}
	return o
}

// running starts a node and returns a function that stops it.
func running(t testing.TB, o Options) (*Node, func()) {
	t.Helper()
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	return n, func() { cancel(); <-done }
}

func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		var mu sync.Mutex
		var keys []uint32
		o := options(t, c, t.TempDir())
		o.SetKeys = func(k []hemera.Key) {
			mu.Lock()
			defer mu.Unlock()
			keys = append(keys, k[0].ID)
		}
		c.away = true
		n, stop := running(t, o)
		defer stop()
		time.Sleep(20 * time.Second)
		select {
		case <-n.Joined():
			t.Fatal("joined without a manager")
		default:
		}
		c.set(func() { c.away = false })
		<-n.Joined()
		time.Sleep(10 * hemera.HeartbeatInterval)
		hellos, reports := c.seen()
		if hellos != 1 || reports < 9 || reports > 11 {
			t.Errorf("%d hellos, %d reports in ten intervals", hellos, reports)
		}
		if s := n.Status(); s.ID != 5 || s.Epoch != 1 || s.Manager != "m:1094" || s.Disks[0].ID != 1 || s.Disks[0].Health != hemera.HealthOK {
			t.Errorf("status %+v", s)
		}
		c.set(func() { c.epoch = 41; c.next.Keys = nil }) // fenced
		time.Sleep(5 * time.Second)
		if e := n.Status().Epoch; e != 42 {
			t.Errorf("epoch %d after fencing", e)
		}
		c.set(func() { c.away = true })
		time.Sleep(time.Minute)
		c.set(func() { c.away = false })
		time.Sleep(5 * time.Second)
		if e := n.Status().Epoch; e != 43 {
			t.Errorf("epoch %d after the manager was away", e)
		}
		c.set(func() { c.next.Keys = []hemera.Key{{ID: 9}} })
		time.Sleep(2 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(keys, []uint32{1, 1, 1, 9}) {
			t.Errorf("keys %v", keys)
		}
		if n.host.Born() != 1 {
			t.Errorf("born under %d", n.host.Born())
		}
	})
}

func TestDisksComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		first, second, late := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "late")
		o := options(t, c, first, late)
		n, stop := running(t, o)
		<-n.Joined()
		time.Sleep(time.Second)
		if s := n.Status(); len(s.Disks) != 1 || len(s.Stats.Unusable) != 1 || s.Stats.Unusable[0].Path != late || s.Stats.Unusable[0].Why == "" {
			t.Errorf("disks %+v, unusable %+v", s.Disks, s.Stats.Unusable)
		}
		if err := os.Mkdir(late, 0o700); err != nil {
			t.Fatal(err)
		}
		c.set(func() { c.next.Attach = []hemera.AttachDisk{{Path: second, Space: "fast"}} })
		time.Sleep(2 * retryInterval)
		hellos, _ := c.seen()
		d := n.Status().Disks
		if len(d) != 3 || d[1].Health != hemera.HealthOK || d[2].Space != "fast" || d[2].ID == 0 {
			t.Errorf("disks after attaching: %+v", d)
		}
		if hellos > 3 {
			t.Errorf("registered %d times", hellos)
		}
		c.set(func() { c.next.Detach = []hemera.DiskID{1} })
		time.Sleep(3 * time.Second)
		if _, ok := n.disks.find(1); ok || len(n.Status().Disks) != 2 {
			t.Error("the disk is still there")
		}
		stop()

		o.Disks = nil // attached disks are remembered
		n, stop = running(t, o)
		defer stop()
		<-n.Joined()
		d = n.Status().Disks
		if len(d) != 2 || d[0].Path != late || d[1].Path != second || n.ID() != 5 {
			t.Errorf("disks after a restart: %+v", d)
		}
		c.mu.Lock()
		hello := c.hellos[len(c.hellos)-1]
		c.mu.Unlock()
		if hello.ID != 5 || hello.Disks[1].ID != d[1].ID || hello.Disks[1].UUID == "" {
			t.Errorf("hello after a restart: %+v", hello)
		}
	})
}

// A disk that is gone is closed, so that its filesystem can be unmounted, and opened again when it returns. While it is
// being written to it stays open.
func TestADiskThatIsGoneIsLetGoOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		path := filepath.Join(t.TempDir(), "disk")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		n, stop := running(t, options(t, c, path))
		defer stop()
		<-n.Joined()
		before, ok := n.disks.find(1)
		if !ok {
			t.Fatal("no disk")
		}
		w, err := before.Create(hemera.PieceID{File: 7, Gen: 1}, disk.CreateOptions{Path: "/f", Layout: hemera.Plain()})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if s, ok := n.disks.find(1); !ok || s != before {
			t.Error("the disk was closed under a write")
		}
		_ = w.Abort()
		time.Sleep(5 * time.Second)
		if _, ok := n.disks.find(1); ok {
			t.Error("the disk is still open")
		}
		if d := n.Status().Disks; len(d) != 1 || d[0].Health != hemera.HealthGone || d[0].Why == "" || d[0].ID != 1 {
			t.Errorf("the disk is reported as %+v", d)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * retryInterval)
		if s, ok := n.disks.find(1); !ok || s == before {
			t.Error("the disk was not opened again")
		}
		if d := n.Status().Disks; len(d) != 1 || d[0].Health != hemera.HealthOK || d[0].ID != 1 {
			t.Errorf("the disk is reported as %+v", d)
		}
	})
}

func TestAnotherDiskAtThePathIsRefused(t *testing.T) {
	c := newControl()
	path := t.TempDir()
	o := options(t, c, path)
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	uuid := n.Status().Disks[0].UUID
	n.disks.close()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if n, err = New(o); err != nil {
		t.Fatal(err)
	}
	if d := n.Status().Disks[0]; d.Health != hemera.HealthGone || d.UUID != uuid {
		t.Errorf("disk %+v", d)
	}
}

func TestStateFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t, newControl())
	o.StateDir = dir
	if _, err := New(o); !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
		t.Errorf("broken state: %v", err)
	}
}

func TestOrders(t *testing.T) {
	c := newControl()
	n, stop := running(t, options(t, c, t.TempDir(), t.TempDir()))
	defer stop()
	<-n.Joined()
	store, _ := n.disks.find(1)
	id := hemera.PieceID{File: 7, Gen: 1}
	p := bytes.Repeat([]byte("abcd"), 5000)
	w, err := store.Create(id, disk.CreateOptions{Path: "/f", Layout: hemera.Replica(2)})
	if err == nil {
		err = w.WritePages(p, nil, 0)
	}
	if err == nil {
		_, err = w.Seal(hemera.SealInfo{FileSize: int64(len(p))})
	}
	if err != nil {
		t.Fatal(err)
	}
	read := hemera.Capability{File: 7, Gen: 1, Access: hemera.AccessRead, Size: int64(len(p)), Layout: hemera.Replica(2), Path: "/f"}
	n.o.Verify = func(token string) (hemera.Capability, error) {
		if token != "good" {
			return hemera.Capability{}, errs.Denied
		}
		return read, nil
	}
	from := []hemera.Target{{Index: 0, Disk: 1, Node: 5, Addr: "n:1095"}}
	copied := hemera.PieceID{File: 7, Gen: 1, Index: 0}
	missing := hemera.PieceID{File: 99, Gen: 1}
	run := func(o hemera.Order) hemera.OrderResult {
		t.Helper()
		o.ID = uint64(time.Now().UnixNano())
		c.orders <- []hemera.Order{o}
		r := <-c.results
		if r.ID != o.ID {
			t.Fatalf("answer to %d, want %d", r.ID, o.ID)
		}
		return r
	}
	if r := run(hemera.Order{Kind: hemera.OrderCopy, Piece: copied, Disk: 2, Sources: from, Token: "good"}); r.Failed || r.Bytes != int64(len(p)) {
		t.Errorf("copy: %+v", r)
	}
	if r := run(hemera.Order{Kind: hemera.OrderCopy, Piece: copied, Disk: 2, Sources: from, Token: "bad"}); errs.Kind(r.ErrKind) != errs.Denied {
		t.Errorf("copy with a bad token: %+v", r)
	}
	if r := run(hemera.Order{Kind: hemera.OrderVerify, Piece: copied, Disk: 2, Checksum: hemera.Adler32}); r.Failed || len(r.Pieces) != 1 || len(r.Checksums) != 2 {
		t.Errorf("verify: %+v", r)
	}
	if r := run(hemera.Order{Kind: hemera.OrderVerify, Piece: missing, Disk: 2}); errs.Kind(r.ErrKind) != errs.NotFound {
		t.Errorf("verify of a missing piece: %+v", r)
	}
	if r := run(hemera.Order{Kind: hemera.OrderInventory, Disk: 2, Limit: 10}); r.Failed || len(r.Pieces) != 1 || r.Pieces[0].ID != copied {
		t.Errorf("inventory: %+v", r)
	}
	for range 2 {
		if r := run(hemera.Order{Kind: hemera.OrderRemove, Piece: copied, Disk: 2}); r.Failed {
			t.Errorf("remove: %+v", r)
		}
	}
	if r := run(hemera.Order{Kind: hemera.OrderRepair, Piece: copied, Disk: 2, Sources: from, Token: "good"}); r.Failed || r.Bytes == 0 {
		t.Errorf("repair: %+v", r)
	}
	if r := run(hemera.Order{Kind: hemera.OrderRemove, Piece: copied, Disk: 3}); errs.Kind(r.ErrKind) != errs.NotFound {
		t.Errorf("disk of another node: %+v", r)
	}
	if r := run(hemera.Order{Kind: 99, Piece: copied, Disk: 2}); errs.Kind(r.ErrKind) != errs.Unsupported {
		t.Errorf("unknown kind: %+v", r)
	}
	if n.Status().Orders != 10 {
		t.Errorf("%d orders done", n.Status().Orders)
	}
}

// TestAnOrderThatPanicsFails checks that other orders continue, also in the same lane.
func TestAnOrderThatPanicsFails(t *testing.T) {
	c := newControl()
	n, stop := running(t, options(t, c, t.TempDir(), t.TempDir()))
	defer stop()
	<-n.Joined()
	n.o.Verify = func(string) (hemera.Capability, error) { panic("a defect") }
	for id, o := range []hemera.Order{
		{Kind: hemera.OrderCopy, Piece: hemera.PieceID{File: 7, Gen: 1}, Disk: 2, Token: "bad"},
		{Kind: hemera.OrderInventory, Disk: 2, Limit: 10},
		{Kind: hemera.OrderConvert, Piece: hemera.PieceID{File: 7, Gen: 1}, Disk: 2},
	} {
		o.ID = uint64(id + 1)
		c.orders <- []hemera.Order{o}
		r, panicked := <-c.results, o.Kind != hemera.OrderInventory
		if r.ID != o.ID || r.Failed != panicked || panicked && errs.Kind(r.ErrKind) != errs.Internal {
			t.Errorf("order %d: %+v", id, r)
		}
	}
	if n.Panics().Count() != 2 {
		t.Errorf("%d panics were counted", n.Panics().Count())
	}
}

// TestManyOrders checks that more orders than a queue holds are all answered, each once.
func TestManyOrders(t *testing.T) {
	c := newControl()
	c.results = make(chan hemera.OrderResult, 3*ordersQueued)
	n, stop := running(t, options(t, c, t.TempDir()))
	defer stop()
	<-n.Joined()
	var list []hemera.Order
	for i := range 2 * ordersQueued {
		list = append(list, hemera.Order{ID: uint64(i), Kind: hemera.OrderRemove, Piece: hemera.PieceID{File: 1}, Disk: 1})
	}
	c.orders <- list
	seen := map[uint64]bool{}
	for range list {
		r := <-c.results
		if seen[r.ID] {
			t.Fatalf("order %d answered twice", r.ID)
		}
		seen[r.ID] = true
		if r.Failed && errs.Kind(r.ErrKind) != errs.Overloaded {
			t.Errorf("order %d: %+v", r.ID, r)
		}
	}
}

func TestRates(t *testing.T) {
	line := func(in, out uint64) procfs.NetDevLine {
		return procfs.NetDevLine{RxBytes: in, TxBytes: out, RxErrors: 3}
	}
	before := map[string]procfs.NetDevLine{"lo": line(1, 1), "eth0": line(1000, 5000), "eth1": line(9, 9)}
	now := map[string]procfs.NetDevLine{"lo": line(9, 9), "eth0": line(3000, 5500), "eth1": line(0, 0), "eth2": line(7, 7)}
	got := rates(before, now, 2*time.Second)
	want := []hemera.NetStats{
		{Name: "eth0", InRate: 1000, OutRate: 250, InErrors: 3},
		{Name: "eth1", InErrors: 3},
		{Name: "eth2", InErrors: 3},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if only := rates(nil, map[string]procfs.NetDevLine{"lo": line(1, 1)}, 0); len(only) != 1 {
		t.Errorf("a machine with loopback only: %+v", only)
	}
}

func TestMeter(t *testing.T) {
	s := newMeter(nil).read(time.Now())
	if s.RSS <= 0 || s.Threads <= 0 || s.Kernel == "" || s.Arch == "" || len(s.Net) == 0 {
		t.Errorf("this machine: %+v", s)
	}
}

func TestOnlyTheHeadTakesWrites(t *testing.T) {
	n, stop := running(t, options(t, newControl(), t.TempDir()))
	defer stop()
	<-n.Joined()
	c := hemera.Capability{File: 1, Gen: 1, Access: hemera.AccessCreate, Layout: hemera.Plain(), Targets: []hemera.Target{{Disk: 1, Node: 6}}}
	n.o.Verify = func(string) (hemera.Capability, error) { return c, nil }
	if _, err := n.Open(t.Context(), hemera.ParsePermit(""), hemera.NodeOpen{}); !errors.Is(err, errs.Denied) {
		t.Errorf("another head's write: %v", err)
	}
	c.Targets[0].Node = 5
	f, err := n.Open(t.Context(), hemera.ParsePermit(""), hemera.NodeOpen{Truncate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.End(t.Context(), hemera.EndAbort); err != nil {
		t.Error(err)
	}
}

// TestOpensAreOfThePathOfTheirCapability checks opens of whole files and of pieces.
func TestOpensAreOfThePathOfTheirCapability(t *testing.T) {
	n, stop := running(t, options(t, newControl(), t.TempDir()))
	defer stop()
	<-n.Joined()
	c := hemera.Capability{File: 1, Gen: 1, Nonce: 1, Access: hemera.AccessRead, Path: "/f", Layout: hemera.Plain(), Targets: []hemera.Target{{Disk: 1, Node: 5}}}
	n.o.Verify = func(string) (hemera.Capability, error) { return c, nil }
	permit := hemera.ParsePermit("")
	for _, path := range []string{"/g", "/f/g", "/"} {
		if _, err := n.Open(t.Context(), permit, hemera.NodeOpen{Path: path, Truncate: true}); !errors.Is(err, errs.Denied) {
			t.Errorf("%q: %v", path, err)
		}
		if _, err := n.OpenPiece(t.Context(), permit, hemera.PieceOpen{Path: path, Truncate: true}); !errors.Is(err, errs.Denied) {
			t.Errorf("a piece of %q: %v", path, err)
		}
	}
	if _, err := n.OpenPiece(t.Context(), permit, hemera.PieceOpen{Truncate: true}); !errors.Is(err, errs.Denied) {
		t.Errorf("a piece without a path: %v", err)
	}
	if _, err := n.OpenPiece(t.Context(), permit, hemera.PieceOpen{Path: "/f", Truncate: true}); errs.KindOf(err) == errs.Denied {
		t.Errorf("its own: %v", err)
	}
}

// TestFinishLetsWritesEnd checks that a stopping node takes no new writes, and waits for the current ones.
func TestFinishLetsWritesEnd(t *testing.T) {
	o := options(t, newControl(), t.TempDir())
	n, stop := running(t, o)
	defer stop()
	<-n.Joined()
	c := hemera.Capability{File: 1, Gen: 1, Nonce: 1, Access: hemera.AccessCreate, Layout: hemera.Plain(), Targets: []hemera.Target{{Disk: 1, Node: 5}}}
	n.o.Verify = func(string) (hemera.Capability, error) { return c, nil }
	f, err := n.Open(t.Context(), hemera.ParsePermit(""), hemera.NodeOpen{Truncate: true})
	if err != nil {
		t.Fatal(err)
	}
	n.Finish(t.Context(), 0) // the time is over at once
	finished := make(chan struct{})
	go func() { defer close(finished); n.Finish(t.Context(), time.Hour) }()
	c.File, c.Nonce = 2, 2
	if _, err := n.Open(t.Context(), hemera.ParsePermit(""), hemera.NodeOpen{Truncate: true}); !errors.Is(err, errs.Unavailable) {
		t.Errorf("a new write: %v", err)
	}
	c.File, c.Nonce = 1, 1
	again, err := n.Open(t.Context(), hemera.ParsePermit(""), hemera.NodeOpen{}) // its client lost the connection
	if err != nil {
		t.Fatal(err)
	}
	f.End(t.Context(), hemera.EndDetach)
	select {
	case <-finished:
		t.Error("the node does not wait for the write")
	default:
	}
	if err := again.End(t.Context(), hemera.EndAbort); err != nil {
		t.Error(err)
	}
	<-finished
}

// TestWrittenIsToldToItsWriterOnly checks that Written needs the capability of the write, for its path.
func TestWrittenIsToldToItsWriterOnly(t *testing.T) {
	n, stop := running(t, options(t, newControl(), t.TempDir()))
	defer stop()
	<-n.Joined()
	c := hemera.Capability{File: 1, Gen: 1, Path: "/f", Access: hemera.AccessUpdate, Base: &hemera.Base{Size: 7}, Targets: []hemera.Target{{Disk: 1, Node: 5}}}
	n.o.Verify = func(token string) (hemera.Capability, error) {
		if token == "" {
			return c, errs.New(errs.Denied, "verify", "", "")
		}
		return c, nil
	}
	if i, err := n.Written(t.Context(), hemera.ParsePermit("t"), "/f"); err != nil || i.Size != 7 {
		t.Errorf("%+v, %v", i, err)
	}
	for _, at := range []string{"/g", ""} {
		token := at
		if _, err := n.Written(t.Context(), hemera.ParsePermit(token), at); !errors.Is(err, errs.Denied) {
			t.Errorf("token %q, path %q: %v", token, at, err)
		}
	}
	c.Access = hemera.AccessRead
	if _, err := n.Written(t.Context(), hemera.ParsePermit("t"), "/f"); !errors.Is(err, errs.Denied) {
		t.Errorf("a reader: %v", err)
	}
}
