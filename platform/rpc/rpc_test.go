package rpc_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera/platform/link"
	"hemera/platform/pki"
	"hemera/platform/rpc"
	"hemera/rules/capability"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// recorder is a manager that gives prepared answers and remembers the calls.
type recorder struct {
	mu      sync.Mutex
	calls   []any
	traces  []string
	reply   any
	err     error
	block   chan struct{} // if set, Exchange waits for it
	waiting chan struct{} // if set, Exchange sends on it that it waits
}

func record[T any](ctx context.Context, r *recorder, call ...any) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	r.traces = append(r.traces, hemera.TraceID(ctx))
	reply, _ := r.reply.(T)
	return reply, r.err
}

func (r *recorder) Register(ctx context.Context, h hemera.NodeHello) (hemera.NodeWelcome, error) {
	return record[hemera.NodeWelcome](ctx, r, "Register", h)
}

func (r *recorder) Heartbeat(ctx context.Context, n hemera.NodeID, e hemera.Epoch, report hemera.NodeReport) (hemera.HeartbeatReply, error) {
	return record[hemera.HeartbeatReply](ctx, r, "Heartbeat", n, e, report)
}

func (r *recorder) Exchange(ctx context.Context, n hemera.NodeID, e hemera.Epoch, results []hemera.OrderResult) (hemera.ExchangeReply, error) {
	if r.waiting != nil {
		r.waiting <- struct{}{}
	}
	if r.block != nil {
		select {
		case <-r.block:
		case <-ctx.Done():
			return hemera.ExchangeReply{}, errs.Wrap(ctx.Err(), "manager.Exchange", n.String())
		}
	}
	return record[hemera.ExchangeReply](ctx, r, "Exchange", n, e, results)
}

func (r *recorder) Commit(ctx context.Context, c hemera.CommitRequest) ([]byte, error) {
	return record[[]byte](ctx, r, "Commit", c)
}

func (r *recorder) Abort(ctx context.Context, p *hemera.Permit) error {
	_, err := record[any](ctx, r, "Abort", p)
	return err
}

func (r *recorder) Keep(ctx context.Context, p *hemera.Permit, size int64) error {
	_, err := record[any](ctx, r, "Keep", p, size)
	return err
}

func (r *recorder) Announce(ctx context.Context, a hemera.Announcement) error {
	_, err := record[any](ctx, r, "Announce", a)
	return err
}

func (r *recorder) Replace(ctx context.Context, p *hemera.Permit, failed []hemera.DiskID) (hemera.Grant, error) {
	return record[hemera.Grant](ctx, r, "Replace", p, failed)
}

type resolved struct {
	entry hemera.Entry
	path  string
}

func (r *recorder) Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error) {
	a, err := record[resolved](ctx, r, "Resolve", id)
	return a.entry, a.path, err
}

// cluster is a manager with a real authority and port.
type cluster struct {
	authority *pki.Authority
	manager   *recorder
	copies    copyRules
	tapes     tapeRecorder
	addr      string
	stop      func()        // of the port, as a crash would
	clock     *atomic.Int64 // seconds the manager's clock is ahead
	removed   atomic.Uint32 // a node that was removed from the cluster
	lacks     string        // a method that the manager is too old for; set before the first call
	log       logged
}

// logged collects the log, for tests that read it while others write.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{manager: &recorder{}, clock: new(atomic.Int64)}
	var ids atomic.Uint32
	a, err := pki.OpenAuthority(t.Context(), t.TempDir(), pki.AuthorityOptions{
		Tokens:  new(pki.MemoryTokens),
		NewNode: func(context.Context) (hemera.NodeID, error) { return hemera.NodeID(ids.Add(1)), nil },
		Now:     func() time.Time { return time.Now().Add(time.Duration(c.clock.Load()) * time.Second) },
	})
	if err != nil {
		t.Fatal(err)
	}
	c.authority = a
	c.listen(t, heldAddr(t))
	return c
}

// heldAddr returns an address at which nothing listens before the test's end, but what the test starts there.
func heldAddr(t testing.TB) string {
	t.Helper()
	held, err := link.Hold(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	return fmt.Sprintf("127.0.0.1:%d", held.First)
}

func (c *cluster) member(id hemera.NodeID) error {
	if id == hemera.NodeID(c.removed.Load()) {
		return errs.New(errs.NotFound, "member", id.String(), "removed")
	}
	return nil
}

func (c *cluster) listen(t testing.TB, addr string) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(&c.log, nil))
	handler, err := rpc.NewServer(c.manager, rpc.ServerOptions{Node: c.authority.Node, Member: c.member, Issuer: c.authority, Copies: &c.copies, Writes: c.manager, Tapes: &c.tapes, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	serves := handler
	handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.lacks != "" && r.URL.Path == rpc.Path+c.lacks {
			http.NotFound(w, r) // as the mux of an earlier version
			return
		}
		serves.ServeHTTP(w, r)
	})
	l, err := link.Listen(context.Background(), addr, link.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	c.addr = l.Addr().String()
	mux := link.NewMux(l, link.MuxOptions{Log: log})
	secure := rpc.Strangers(mux.Listener(link.TLS))
	server := rpc.NewHTTPServer(handler, c.authority.ServerTLS(), log)
	var running sync.WaitGroup
	running.Go(func() { _ = mux.Serve() })
	running.Go(func() { _ = server.ServeTLS(secure, "", "") })
	c.stop = func() {
		mux.Close()
		server.Close()
		running.Wait()
	}
	t.Cleanup(c.stop)
}

func (c *cluster) token(t testing.TB, once bool) pki.Token {
	t.Helper()
	uses := 100
	if once {
		uses = 1
	}
	text, err := c.authority.CreateToken(context.Background(), pki.TokenOptions{Addrs: []string{c.addr}, Lifetime: time.Hour, Uses: uses})
	if err != nil {
		t.Fatal(err)
	}
	token, err := pki.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func dial(t testing.TB, config *tls.Config, addrs ...string) *rpc.Client {
	t.Helper()
	client, err := rpc.Dial(rpc.ClientOptions{Addrs: addrs, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func (c *cluster) join(t testing.TB) (*pki.Credentials, *rpc.Client) {
	t.Helper()
	token := c.token(t, false)
	creds, err := pki.Enrol(context.Background(), t.TempDir(), token, dial(t, token.TLS(), token.Addrs...))
	if err != nil {
		t.Fatal(err)
	}
	return creds, dial(t, creds.TLS(), creds.Addrs()...)
}

var (
	someTime  = time.Date(2026, 2, 3, 4, 5, 6, 789012345, time.UTC)
	somePath  = "/data/\xff\xfe not UTF-8"
	someWho   = hemera.Identity{Name: "alice", UID: 1001, GID: 100, Groups: []uint32{100, 200}, Protocol: "unix", Host: "::1", App: "xrdcp"}
	someSum   = hemera.Checksum{Kind: hemera.SHA256, Value: [32]byte{1, 2, 254, 255}}
	someEntry = hemera.Entry{
		ID: 1 << 63, Parent: 7, Name: "\xff", Kind: hemera.KindFile, Mode: 0o644, UID: 1, GID: 2, Mtime: someTime, Ctime: someTime, Birth: someTime,
		Xattrs: map[string][]byte{"user.\xfe": {0, 255}}, Size: 1 << 50, Gen: 3, Layout: hemera.Replica(2),
		Checksums: []hemera.Checksum{someSum}, Pieces: []hemera.Piece{{Index: 1, Disk: 9}}, Space: "default", Tree: hemera.TreeTotals{Files: 1, Bytes: -2},
	}
	someTarget = hemera.Target{Index: 1, Disk: 2, Node: 3, Addr: "n3:1095"}
)

// permits compares permits by their capabilities and by their tokens.
var permits = cmp.Comparer(func(a, b *hemera.Permit) bool {
	x, err := a.Token()
	y, failed := b.Token()
	return x == y && err == nil && failed == nil && cmp.Equal(a.Capability, b.Capability)
})

// addresses compares addresses, which have fields of their own.
var addresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// nodeCalls are the calls of a node.
type nodeCalls struct {
	hemera.Control
	hemera.OpenWrites
}

// conformance tests every transport of Control: each argument arrives, and each answer comes back, bit by bit.
func conformance(t *testing.T, manager *recorder, node hemera.NodeID, control nodeCalls) {
	ctx := hemera.WithTrace(context.Background(), "0123456789abcdef")
	disk := hemera.NodeDisk{UUID: "u", Path: somePath, ID: 4, Health: hemera.HealthFailing, Why: "x", DiskStats: hemera.DiskStats{Capacity: 1 << 60, Load: hemera.DiskLoad{Busy: 0.25}}}
	hello := hemera.NodeHello{ID: node, Addr: "n:1", Zone: "z", Version: "1", Disks: []hemera.NodeDisk{disk}}
	welcome := hemera.NodeWelcome{ID: node, Epoch: 1 << 60, DiskIDs: map[string]hemera.DiskID{"u": 4}, Keys: []hemera.Key{{ID: 1, Secret: []byte{0, 255}}}, ManagerAddr: "m:1", Headroom: map[hemera.DiskID]int64{4: -1}}
	report := hemera.NodeReport{Stats: hemera.NodeStats{Net: []hemera.NetStats{{Name: "eth0", InRate: 0.1}}, Started: someTime, CPUSeconds: 1e9 + 0.5}, Disks: []hemera.NodeDisk{disk},
		Network: &hemera.NetworkSample{Taken: someTime, Interval: time.Second, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::1")},
			Interfaces: []hemera.NetworkInterface{{Name: "eth0", Virtual: true, Member: true, Up: true, Carrier: true, HalfDuplex: true, Speed: 1 << 40,
				In: hemera.NetworkTraffic{Bytes: 1 << 60, Packets: 1, Errors: 2, Missed: 3, Dropped: 4}, Out: hemera.NetworkTraffic{Bytes: 5}, CarrierChanges: 6}},
			Paths: []hemera.NetworkPath{{Peer: netip.MustParseAddr("10.0.0.2"), Sent: 1 << 40, Lost: 2, Received: 3, OutOfOrder: 4, RTT: 5}, {Sent: 6}}}}
	beat := hemera.HeartbeatReply{Keys: welcome.Keys, Headroom: welcome.Headroom, Attach: []hemera.AttachDisk{{Path: somePath, Space: "s"}}, Detach: []hemera.DiskID{9}}
	results := []hemera.OrderResult{{ID: 1, Failed: true, ErrKind: uint8(errs.IO), ErrText: "bad", Checksums: []hemera.Checksum{someSum},
		Pieces: []hemera.PieceStat{{ID: hemera.PieceID{File: 1, Gen: 2, Index: 3}, Path: somePath, Layout: hemera.Plain(), Sealed: someTime}}}}
	mark := []byte{1, 0, 255}
	orders := hemera.ExchangeReply{Seen: mark, Orders: []hemera.Order{{ID: 7, Kind: hemera.OrderCopy, Sources: []hemera.Target{someTarget}, Token: "cap", After: hemera.PieceID{File: 9}, Limit: 10}}}
	token := hemera.ParsePermit("cap")
	commit := hemera.CommitRequest{Permit: token, Size: 5, Checksums: []hemera.Checksum{someSum}, Pieces: []hemera.Piece{{Disk: 1}, {Index: 1, Disk: 2}}, Mtime: someTime, Xattrs: map[string][]byte{"user.a": []byte("b")}}
	announcement := hemera.Announcement{Node: node, Epoch: 6, More: true, Writes: []hemera.OpenWrite{{Permit: token, Age: time.Hour, Size: 1 << 40, Idle: 3, Attached: true}, {Permit: hemera.ParsePermit("cap3")}}}
	grant := hemera.Grant{Addr: "n:1", Permit: hemera.VerifiedPermit(hemera.Capability{File: 1, Name: "\xff", Path: somePath, Checksums: []hemera.ChecksumKind{hemera.Adler32}, Targets: []hemera.Target{someTarget}, Base: &hemera.Base{Gen: 1, Pieces: []hemera.Target{someTarget}}, Who: someWho, Expires: someTime, Nonce: 1<<64 - 1}, "cap2")}
	steps := []struct {
		reply any // the manager's answer, which the client must return
		call  func() (any, error)
		want  []any
	}{
		{welcome, func() (any, error) { return control.Register(ctx, hello) }, []any{"Register", hello}},
		{beat, func() (any, error) { return control.Heartbeat(ctx, node, 6, report) }, []any{"Heartbeat", node, hemera.Epoch(6), report}},
		{orders, func() (any, error) { return control.Exchange(ctx, node, 6, results) }, []any{"Exchange", node, hemera.Epoch(6), results}},
		{mark, func() (any, error) { return control.Commit(ctx, commit) }, []any{"Commit", commit}},
		{nil, func() (any, error) { return nil, control.Abort(ctx, token) }, []any{"Abort", token}},
		{nil, func() (any, error) { return nil, control.Keep(ctx, token, 77) }, []any{"Keep", token, int64(77)}},
		{nil, func() (any, error) { return nil, control.Announce(ctx, announcement) }, []any{"Announce", announcement}},
		{grant, func() (any, error) { return control.Replace(ctx, token, []hemera.DiskID{1, 2}) }, []any{"Replace", token, []hemera.DiskID{1, 2}}},
		{resolved{someEntry, somePath}, func() (any, error) { e, p, err := control.Resolve(ctx, 5); return resolved{e, p}, err }, []any{"Resolve", hemera.FileID(5)}},
	}
	failure := &errs.Error{Kind: errs.Conflict, Op: "manager.X", Subject: somePath, Text: "rewritten", Cause: io.ErrUnexpectedEOF, Remedy: "open it again"}
	for _, s := range steps {
		method := s.want[0].(string)
		*manager = recorder{reply: s.reply}
		got, err := s.call()
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		if diff := cmp.Diff(s.reply, got, cmp.AllowUnexported(resolved{}), permits); diff != "" {
			t.Errorf("%s: the answer changed on the way (-sent +got):\n%s", method, diff)
		}
		if diff := cmp.Diff([]any{s.want}, manager.calls, permits, addresses); diff != "" {
			t.Errorf("%s: the arguments changed on the way (-sent +got):\n%s", method, diff)
		}
		if manager.traces[0] != "0123456789abcdef" {
			t.Errorf("%s: the trace id became %q", method, manager.traces[0])
		}
		*manager = recorder{err: failure}
		_, err = s.call()
		var e *errs.Error
		if !errors.As(err, &e) || e.Kind != failure.Kind || e.Op != failure.Op || e.Subject != failure.Subject ||
			err.Error() != failure.Error() || errs.RemedyOf(err) != failure.Remedy {
			t.Errorf("%s: the failure became %#v", method, err)
		}
	}
	if n := reflect.TypeFor[nodeCalls]().NumMethod(); n != len(steps) {
		t.Errorf("%d methods are tested of %d", len(steps), n)
	}
}

func TestConformance(t *testing.T) {
	t.Run("in process", func(t *testing.T) {
		var manager recorder
		conformance(t, &manager, 1, nodeCalls{&manager, &manager})
	})
	t.Run("remote", func(t *testing.T) {
		c := newCluster(t)
		creds, client := c.join(t)
		conformance(t, c.manager, creds.Node(), nodeCalls{client, client})
	})
}

// TestAnEarlierManagerTakesNoAnnouncements: the node hears that it has no such call, and not that it is away.
func TestAnEarlierManagerTakesNoAnnouncements(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	c.lacks = "Announce"
	if err := client.Announce(t.Context(), hemera.Announcement{Node: creds.Node()}); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
}

// TestAnAnnouncementOfTheLargestTokensFits into a message.
func TestAnAnnouncementOfTheLargestTokensFits(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	writes := slices.Repeat([]hemera.OpenWrite{{Permit: hemera.ParsePermit(strings.Repeat("x", capability.TokenMax))}}, hemera.AnnouncedMax)
	if err := client.Announce(t.Context(), hemera.Announcement{Node: creds.Node(), Writes: writes}); err != nil || len(c.manager.calls) != 1 {
		t.Error(err)
	}
}

// copyRules remembers its calls.
type copyRules struct {
	asked []any
	err   error
}

func (r *copyRules) MayFetch(ctx context.Context, s hemera.CopySource) error {
	node, _ := hemera.Caller(ctx)
	r.asked = append(r.asked, node, s)
	return r.err
}

func TestMayFetch(t *testing.T) {
	c := newCluster(t)
	creds, client := c.join(t)
	source := hemera.CopySource{Node: 77, Name: "a:1", Addr: "192.0.2.1:1"}
	if err := client.MayFetch(t.Context(), source); err != nil {
		t.Error(err)
	}
	c.copies.err = errs.New(errs.Denied, "a.B", "s", "not there")
	if err := client.MayFetch(t.Context(), source); !errors.Is(err, errs.Denied) {
		t.Error(err)
	}
	if diff := cmp.Diff([]any{creds.Node(), source, creds.Node(), source}, c.copies.asked); diff != "" {
		t.Error(diff)
	}
}

// TestEveryKindSurvives includes kinds that are appended later.
func TestEveryKindSurvives(t *testing.T) {
	c := newCluster(t)
	_, client := c.join(t)
	for k := errs.Internal; k == errs.Internal || k.String() != errs.Internal.String(); k++ {
		c.manager.err = errs.New(k, "a.B", "s", "t")
		if err := client.Abort(context.Background(), hemera.ParsePermit("")); errs.KindOf(err) != k {
			t.Errorf("%v became %v", k, err)
		}
	}
	c.manager.err = errors.New(strings.Repeat("long ", 1<<20))
	if err := client.Abort(context.Background(), hemera.ParsePermit("")); errs.KindOf(err) != errs.Internal || len(err.Error()) > 10<<10 {
		t.Errorf("a huge error became %d bytes of %v", len(err.Error()), errs.KindOf(err))
	}
}

func BenchmarkCommit(b *testing.B) {
	c := newCluster(b)
	_, client := c.join(b)
	c.manager.reply = someEntry
	commit := hemera.CommitRequest{Permit: hemera.ParsePermit(strings.Repeat("t", 600)), Size: 5, Checksums: []hemera.Checksum{someSum, someSum}, Pieces: []hemera.Piece{{Disk: 1}, {Index: 1, Disk: 2}}, Mtime: someTime}
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := client.Commit(context.Background(), commit); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}
