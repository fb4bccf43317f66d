package xrd

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"hemera/rules/limits"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// begin sends the header of a request with a payload of n bytes, and the first bytes of the payload.
func (c *rawConn) begin(t *testing.T, r wire.Request, n, some int) {
	t.Helper()
	b := wire.AppendRequest(nil, wire.StreamID{}, r, n)
	if _, err := c.Write(append(b, make([]byte, some)...)); err != nil {
		t.Fatal(err)
	}
}

func drained(t *testing.T, b *limits.Budget[Client]) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); b.Usage().Used != 0 || b.Usage().Clients != 0; {
		if time.Now().After(end) {
			t.Fatalf("%+v is left", b.Usage())
		}
		time.Sleep(time.Millisecond)
	}
}

// An unfinished request is kept for a short time only, and takes little memory.
func TestRequestsThatNeverEnd(t *testing.T) {
	budgets := NewBudgets(1024, 0) // 16 MiB, 4 for a client
	p := newPair(t, func(o *Options) {
		o.Budgets, o.Limits.RequestTime = budgets, 200*time.Millisecond
	})
	var held []*rawConn
	for range 100 {
		c := dial(t, p.managerAddr)
		held = append(held, c)
		c.begin(t, wire.Prepare{}, 200_000, 100_000)
	}
	for _, c := range held {
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		for {
			if _, _, err := c.frame(); err != nil {
				if e, ok := err.(net.Error); ok && e.Timeout() {
					t.Fatal("a request that does not end is kept")
				}
				break
			}
		}
	}
	drained(t, budgets.Requests)
	if u := budgets.Requests.Usage(); u.RefusedShare == 0 {
		t.Errorf("nobody had to wait: %+v", u)
	}
}

// A node accepts long lists only from clients with an open file.
func TestNodesTakeLongRequestsForOpenFilesOnly(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "original")
	c := dial(t, p.nodeAddr)
	args := wire.FattrArgs{}
	for i := range 2 {
		args.Names, args.Values = append(args.Names, fmt.Sprint("k", i)), append(args.Values, make([]byte, 60000))
	}
	long := string(args.Append(nil))
	c.refused(t, wire.Fattr{Subcode: wire.FattrSet, Count: 2}, long, wire.ArgTooLong)
	c.refused(t, wire.Statx{}, strings.Repeat("/f\n", 50000), wire.ArgTooLong)
	fh := p.openWrite(t, c, "/new", wire.OpenNew)
	c.must(t, wire.Fattr{Handle: fh, Subcode: wire.FattrSet, Count: 2}, long)
}

// The attributes of an open file are bounded when they are set, not when they are committed.
func TestAttributesOfAnOpenFileAreBounded(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	fh := p.openWrite(t, c, "/new", wire.OpenNew)
	set := func(name string, n int) wire.Code {
		t.Helper()
		args := wire.FattrArgs{Names: []string{name}, Values: [][]byte{make([]byte, n)}}
		b := c.must(t, wire.Fattr{Handle: fh, Subcode: wire.FattrSet, Count: 1}, string(args.Append(nil)))
		r, err := wire.ParseFattrResults(b, false)
		if err != nil {
			t.Fatal(err)
		}
		return r[0].Code
	}
	most := hemera.XattrsBytesMax - 2*len("user.a")
	for _, step := range []struct {
		name string
		n    int
		want wire.Code
	}{
		{"a", 65536, 0}, {"b", 65536, wire.ArgTooLong}, {"b", most - 65536, 0}, {"c", 1, wire.ArgTooLong},
		{"a", 1, 0}, {"c", 1000, 0}, {"a", 65536, wire.ArgTooLong},
	} {
		if got := set(step.name, step.n); got != step.want {
			t.Errorf("%s of %d bytes: %v, want %v", step.name, step.n, got, step.want)
		}
	}
}

// All checkpoints together have little memory for overwritten bytes.
func TestCheckpointsShareABudget(t *testing.T) {
	budgets := NewBudgets(1024, 0) // 4 MiB for a client
	p := newPair(t, func(o *Options) { o.Budgets = budgets })
	const size = 1 << 20
	var refused int
	c := dial(t, p.nodeAddr)
	for i := range 6 {
		path := fmt.Sprint("/f", i)
		p.put(path, strings.Repeat("x", size))
		fh := p.openOld(t, c, path, hemera.AccessUpdate)
		c.must(t, wire.Chkpoint{Handle: fh, Operation: wire.CkpBegin}, "")
		inner := wire.AppendRequest(nil, wire.StreamID{}, wire.Truncate{Handle: fh}, 0)
		status, body, err := c.call(wire.Chkpoint{Handle: fh, Operation: wire.CkpXeq}, inner)
		if err != nil {
			t.Fatal(err)
		}
		if status == wire.StatusError {
			refused++
			if e := wire.ParseError(body); !strings.Contains(e.Error(), "checkpoint") {
				t.Error(e)
			}
		}
	}
	if used := budgets.Checkpoints.Usage().Used; refused != 3 || used < 3*size || used > 4<<20 {
		t.Errorf("%d refused, %d bytes in use", refused, used)
	}
	c.Close()
	drained(t, budgets.Checkpoints)
	drained(t, budgets.Handles)
	if n := len(p.stored("/f0")); n != size {
		t.Errorf("a checkpoint of a client that went away left %d bytes", n)
	}
}

// One client has a share of the open files of a server, over all its sessions.
func TestHandlesAreCountedByClient(t *testing.T) {
	budgets := NewBudgets(256, 0) // 64 files, 32 for a client
	p := newPair(t, func(o *Options) { o.Budgets = budgets })
	p.put("/f", "original")
	g, err := p.memory.grantOpen(hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	first, second := dial(t, p.nodeAddr), dial(t, p.nodeAddr)
	var fh wire.Handle
	for range 16 {
		p.openToken(t, first, "/f", tokenOf(g), wire.OpenRead)
		fh = p.openToken(t, second, "/f", tokenOf(g), wire.OpenRead)
	}
	open := wire.Open{Options: wire.OpenRead}
	status, body, err := second.call(open, []byte("/f?hem.cap="+tokenOf(g)))
	if err != nil || status != wire.StatusError || !strings.Contains(wire.ParseError(body).Error(), "open") {
		t.Fatalf("%v %q %v", status, body, err)
	}
	second.must(t, wire.Close{Handle: fh}, "")
	p.openToken(t, second, "/f", tokenOf(g), wire.OpenRead)
	first.Close()
	second.Close()
	drained(t, budgets.Handles)
}

// TestHandlesAtNodesAreCountedByUser checks that the user of the capability is charged: one with a full share does not
// affect another of the same machine, and a head that opens pieces for both is charged for each.
func TestHandlesAtNodesAreCountedByUser(t *testing.T) {
	budgets := NewBudgets(256, 0) // 64 files, 32 for a user
	p := newPair(t, func(o *Options) { o.Budgets = budgets })
	p.put("/f", "original")
	read := hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead}
	one, other := p.tokenFor(t, "one", 1001, read), p.tokenFor(t, "other", 1002, read)
	c := dial(t, p.nodeAddr)
	for range 32 {
		p.openToken(t, c, "/f", one, wire.OpenRead)
	}
	for _, what := range []string{"", "&hem.piece=0"} {
		status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte("/f?hem.cap="+one+what))
		if err != nil || status != wire.StatusError || !strings.Contains(wire.ParseError(body).Error(), "this client has its share") {
			t.Fatalf("beyond the share%s: %v %q %v", what, status, body, err)
		}
	}
	for range 16 {
		p.openToken(t, c, "/f", other, wire.OpenRead)
	}
	c.Close()
	drained(t, budgets.Handles)
}

// tokenFor returns the token of a capability for a user.
func (p *pair) tokenFor(t *testing.T, name string, uid uint32, o hemera.OpenRequest) string {
	t.Helper()
	g, err := p.memory.grantOpen(o)
	if err != nil {
		t.Fatal(err)
	}
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	p.memory.grants[tokenOf(g)].who = hemera.Identity{Name: name, UID: uid}
	return tokenOf(g)
}

// TestWhatIsUsedForAFileIsCountedByItsUser opens files of two users of one machine at a node. One has its full share of
// checkpoints, arranged copies and long requests; the other is still served.
func TestWhatIsUsedForAFileIsCountedByItsUser(t *testing.T) {
	budgets := NewBudgets(1<<14, 0) // 4 MiB for a client
	p := newPair(t, func(o *Options) { o.Budgets, o.Limits.RequestTime = budgets, time.Hour })
	const size = 1 << 20
	p.put("/f", "original")
	for i := range 6 {
		p.put(fmt.Sprint("/f", i), strings.Repeat("x", size))
	}
	read := hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead}
	one, other := p.tokenFor(t, "one", 1001, read), p.tokenFor(t, "other", 1002, read)

	// checkpoint changes a file under a checkpoint.
	checkpoint := func(c *rawConn, path, name string, uid uint32) wire.Status {
		t.Helper()
		fh := p.openToken(t, c, path, p.tokenFor(t, name, uid, hemera.OpenRequest{Path: path, Access: hemera.AccessUpdate}), wire.OpenUpdate)
		c.must(t, wire.Chkpoint{Handle: fh, Operation: wire.CkpBegin}, "")
		status, _, err := c.call(wire.Chkpoint{Handle: fh, Operation: wire.CkpXeq}, wire.AppendRequest(nil, wire.StreamID{}, wire.Truncate{Handle: fh}, 0))
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	c := dial(t, p.nodeAddr)
	for i, want := range []wire.Status{wire.StatusOK, wire.StatusOK, wire.StatusOK, wire.StatusError} {
		if got := checkpoint(c, fmt.Sprint("/f", i), "one", 1001); got != want {
			t.Errorf("checkpoint %d: %v", i, got)
		}
	}
	if got := checkpoint(c, "/f4", "other", 1002); got != wire.StatusOK { // on the same connection, like a head
		t.Errorf("a checkpoint of another user: %v", got)
	}

	arrange := func(token string, i int) wire.Status {
		t.Helper()
		status, body, err := c.call(wire.Open{Options: wire.OpenRead}, fmt.Appendf(nil, "/f?tpc.dst=127.0.0.1&tpc.stage=copy&tpc.key=0123456789%d&hem.cap=%s", i, token))
		if err != nil {
			t.Fatal(err)
		}
		if r, err := wire.ParseOpenReply(body); err == nil && status == wire.StatusOK {
			c.must(t, wire.Close{Handle: r.Handle}, "")
		}
		return status
	}
	copies := 0
	for copies < 2000 && arrange(one, copies) == wire.StatusOK {
		copies++
	}
	if copies == 2000 || arrange(other, copies) != wire.StatusOK {
		t.Errorf("one user has arranged %d copies, another cannot", copies)
	}

	// Unfinished requests reserve their whole length. begin reports whether one more of the user is accepted.
	const long = 120_000
	begin := func(token string) bool {
		t.Helper()
		c := dial(t, p.nodeAddr)
		t.Cleanup(func() { c.Close() })
		fh := p.openToken(t, c, "/f", token, wire.OpenRead)
		before := budgets.Requests.Usage()
		c.begin(t, wire.Fattr{Handle: fh, Subcode: wire.FattrSet, Count: 2}, long, 1)
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			now := budgets.Requests.Usage()
			if now.Used > before.Used || now.RefusedShare > before.RefusedShare || now.RefusedTotal > before.RefusedTotal {
				return now.Used > before.Used
			}
			if time.Now().After(end) {
				t.Fatalf("a request is neither taken nor refused: %+v", now)
			}
		}
	}
	taken := 0
	for taken < 100 && begin(one) {
		taken++
	}
	if taken == 0 || taken == 100 || !begin(other) {
		t.Errorf("%d requests of one user are taken, and none of another", taken)
	}
}

// TestTruncationsByPathAreOfThePathOfTheirCapability checks that the capability of a truncation must be for its path, as
// with opens.
func TestTruncationsByPathAreOfThePathOfTheirCapability(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "original")
	p.put("/g", "original")
	c := dial(t, p.nodeAddr)
	token := p.tokenFor(t, "one", 1001, hemera.OpenRequest{Path: "/f", Access: hemera.AccessUpdate})
	c.refused(t, wire.Truncate{Size: 3}, "/g?hem.cap="+token, wire.NotAuthorized)
	c.refused(t, wire.Truncate{Size: 3}, "?hem.cap="+token, wire.ArgMissing)
	c.must(t, wire.Truncate{Size: 3}, "/f?hem.cap="+token)
	if f, g := p.stored("/f"), p.stored("/g"); f != "ori" || g != "original" {
		t.Errorf("they are %q and %q", f, g)
	}
}

func TestQueriesAreBounded(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	c.must(t, wire.Query{Kind: wire.QueryConfig}, strings.Repeat("chksum ", configKeysMax))
	c.refused(t, wire.Query{Kind: wire.QueryConfig}, strings.Repeat("chksum ", configKeysMax+1), wire.ArgTooLong)
}

// A refused login is logged with the client's name.
func TestRefusedLoginsAreLogged(t *testing.T) {
	lines := make(chan string, 16)
	p := newPair(t, func(o *Options) {
		o.Policy = keyed{}
		o.Log = slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
			if strings.Contains(string(b), "login refused") {
				lines <- string(b)
			}
			return len(b), nil
		}), nil))
	})
	for _, name := range []string{"banned", "ali"} {
		c := bare(t, p.managerAddr)
		if err := c.hello(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.call(wire.Login{User: name}, nil); err != nil {
			t.Fatal(err)
		}
		if name == "ali" {
			_, _, _ = c.call(wire.Auth{Type: "key"}, []byte("key\x00"))
			c.refused(t, wire.Auth{Type: "key"}, "key\x00wrong", wire.AuthFailed)
		}
		if text := <-lines; !strings.Contains(text, "remote=127.0.0.1:") || !strings.Contains(text, "claims="+name) || !strings.Contains(text, "level=WARN") {
			t.Error(text)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
