package xrd

import (
	"bytes"
	"errors"
	"strconv"
	"testing"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestWhichOpensAreLocal checks which opens the manager's door serves itself, and which it redirects.
func TestWhichOpensAreLocal(t *testing.T) {
	p, _ := newLocalPair(t, nil)
	p.put("/f", "x")
	p.put("/big", string(make([]byte, localMax+1)))
	size := "oss.asize=" + strconv.Itoa(localMax+1)
	for _, c := range []struct {
		path    string
		options uint16
		local   bool
	}{
		{"/f", wire.OpenRead, true},
		{"/f?a=b", wire.OpenRead | wire.OpenRetStat | wire.OpenAsync, true},
		{"/f?hem.cap=stale&hem.node=7", wire.OpenRead, true},
		{"/new1", wire.OpenNew | wire.OpenUpdate, true},
		{"/new2?oss.asize=5", wire.OpenDelete | wire.OpenAsync, true},
		{"/big", wire.OpenRead, false},
		{"/new3?" + size, wire.OpenNew, false},
		{"/f", wire.OpenDelete, false},
		{"/f", wire.OpenUpdate, false},
		{"/f?tried=elsewhere", wire.OpenRead, false},
		{"/f?hem.where=1", wire.OpenRead, false},
		{"/f?tpc.stage=placement", wire.OpenRead, false},
		{"/f?tpc.key=0123456789&tpc.dst=h", wire.OpenRead, false},
	} {
		conn := dial(t, p.managerAddr)
		status, body, err := conn.call(wire.Open{Options: c.options}, []byte(c.path))
		want := wire.StatusRedirect
		if c.local {
			want = wire.StatusOK
		}
		if err != nil || status != want {
			t.Errorf("%s with %#x: status %d, %q, %v", c.path, c.options, status, body, err)
		}
		_ = conn.Close()
	}
	c := dial(t, p.managerAddr)
	if status, body, err := c.call(wire.Truncate{Size: 1}, []byte("/f")); err != nil || status != wire.StatusRedirect {
		t.Errorf("truncate by path: status %d, %q, %v", status, body, err)
	}
}

// TestLocalOpenThatFails checks that the client is redirected to the node, where it gets the error and returns with it.
func TestLocalOpenThatFails(t *testing.T) {
	p, opened := newLocalPair(t, nil)
	p.put("/f", "x")
	p.memory.fail = func(op string) error {
		if op == "open" {
			return errs.New(errs.IO, "open", "/f", "the disk is ill")
		}
		return nil
	}
	c := dial(t, p.managerAddr)
	status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte("/f"))
	to, e := wire.ParseRedirect(body)
	if err != nil || e != nil || status != wire.StatusRedirect || to.Opaque.Value(wire.OpaqueCapability) == "" || opened.Load() != 1 {
		t.Fatalf("status %d, %+v, %v, %v", status, to, err, e)
	}
	const failed = "/f?tried=127.0.0.1&triedrc=ioerr"
	redirected(t, c, wire.Open{Options: wire.OpenRead}, failed)
	c.refused(t, wire.Open{Options: wire.OpenRead}, failed, wire.NoReplicas)
}

// TestLocalPathThatIsNone checks that a request without a path and a handle is refused.
func TestLocalPathThatIsNone(t *testing.T) {
	p, _ := newLocalPair(t, nil)
	c := dial(t, p.managerAddr)
	for _, path := range []string{"\x00", "\x00/f", "\x00?hem.cap=x"} {
		for _, r := range []wire.Request{wire.Stat{}, wire.Truncate{Size: 1}, wire.Fattr{Subcode: wire.FattrList}} {
			if status, body, err := c.call(r, []byte(path)); err != nil || status != wire.StatusError {
				t.Fatalf("%s %q: status %d, %q, %v", r.ID(), path, status, body, err)
			}
		}
	}
	c.must(t, wire.Ping{}, "")
}

// TestLocalFile uses names and an open file on one connection.
func TestLocalFile(t *testing.T) {
	p, _ := newLocalPair(t, nil)
	p.put("/dir/other", "x")
	c := dial(t, p.managerAddr)
	fh := open(t, c, "/dir/f", wire.OpenNew|wire.OpenUpdate|wire.OpenMkpath)
	data := random(300_000)
	c.must(t, wire.Write{Handle: fh}, string(data[:100_000]))
	c.must(t, wire.Pgwrite{Handle: fh, Offset: 100_000}, string(pages(data[100_000:], 100_000)))
	c.must(t, wire.Fattr{Subcode: wire.FattrSet, Handle: fh, Count: 1}, "\x00\x00\x00a\x00\x00\x00\x00\x01v")
	c.must(t, wire.Sync{Handle: fh}, "")
	c.must(t, wire.Stat{}, "/dir/other")
	loginAs(t, p.managerAddr, 43, "").refused(t, wire.Stat{}, "/dir/f", wire.NotFound) // another process
	c.must(t, wire.Chkpoint{Handle: fh, Operation: wire.CkpBegin}, "")
	c.must(t, wire.Truncate{Handle: fh, Size: 7}, "")
	c.must(t, wire.Chkpoint{Handle: fh, Operation: wire.CkpCommit}, "")
	if s, err := wire.ParseStat(c.must(t, wire.Stat{Handle: fh}, "")); err != nil || s.Size != 7 {
		t.Errorf("the open file is %+v, %v", s, err)
	}
	c.must(t, wire.Close{Handle: fh}, "")
	c.refused(t, wire.Close{Handle: fh}, "", wire.FileNotOpen)
	if e, err := p.Stat(t.Context(), hemera.Identity{}, "/dir/f"); err != nil || e.Size != 7 || string(e.Xattrs["user.a"]) != "v" {
		t.Errorf("closed, it is %+v, %v", e, err)
	}

	fh = open(t, c, "/dir/f", wire.OpenRead)
	if got := c.must(t, wire.Read{Handle: fh, Length: 100}, ""); !bytes.Equal(got, data[:7]) {
		t.Errorf("it reads %q", got)
	}
	if got := c.pgread(t, fh, 0, 100); !bytes.Equal(got, data[:7]) {
		t.Errorf("its pages read %q", got)
	}
	l, id := bind(t, p.managerAddr, c.id)
	if _, err := c.send(wire.Read{Handle: fh, Length: 100}, wire.AppendReadArgs(nil, id)); err != nil {
		t.Fatal(err)
	}
	if status, got, err := l.answer(); err != nil || status != wire.StatusOK || !bytes.Equal(got, data[:7]) {
		t.Errorf("on a bound connection: status %d, %q, %v", status, got, err)
	}
	c.must(t, wire.Close{Handle: fh}, "")

	fh = open(t, c, "/given-up", wire.OpenNew)
	c.must(t, wire.Query{Kind: wire.QueryOpaquf, Handle: fh}, wire.OpaqueAbort)
	c.must(t, wire.Close{Handle: fh}, "")
	c.refused(t, wire.Stat{}, "/given-up", wire.NotFound)
}

// TestLocalWriteUnderWay checks that the process sees what it has written.
func TestLocalWriteUnderWay(t *testing.T) {
	p, _ := newLocalPair(t, nil)
	c := dial(t, p.managerAddr)
	fh := open(t, c, "/f", wire.OpenNew)
	for n := int64(1); n < 3; n++ {
		c.must(t, wire.Write{Handle: fh, Offset: n - 1}, "x")
		if s, err := wire.ParseStat(c.must(t, wire.Stat{}, "/f")); err != nil || s.Size != n {
			t.Errorf("after %d bytes: %+v, %v", n, s, err)
		}
	}
}

func open(t *testing.T, c *rawConn, path string, options uint16) wire.Handle {
	t.Helper()
	reply, err := wire.ParseOpenReply(c.must(t, wire.Open{Options: options, Mode: 0o644}, path))
	if err != nil {
		t.Fatal(err)
	}
	return reply.Handle
}

// again has the options with which stock clients continue a write after a lost connection.
const again = wire.OpenUpdate

// TestLocalWriteGoesOn checks that a client that lost its connection names its old session and finds its write.
func TestLocalWriteGoesOn(t *testing.T) {
	p, _ := newLocalPair(t, nil)
	c := dial(t, p.managerAddr)
	fh := open(t, c, "/f", wire.OpenNew)
	c.must(t, wire.Write{Handle: fh}, "part")
	for range 2 { // also if it is lost again before it opened again
		_ = c.Close()
		next := dial(t, p.managerAddr)
		next.must(t, wire.Endsess{Session: c.id}, "")
		next.refused(t, wire.Endsess{Session: c.id}, "", wire.NotFound)
		c = next
	}
	c.refused(t, wire.Open{Options: again | wire.OpenAsync | wire.OpenRetStat}, "/f", wire.NotFound) // the first open of another write
	fh = open(t, c, "/f", again)
	if got := c.must(t, wire.Read{Handle: fh, Length: 10}, ""); string(got) != "part" {
		t.Errorf("after reconnecting the file holds %q", got)
	}
	c.must(t, wire.Write{Handle: fh, Offset: 4}, "ial")
	_ = c.Close()
	next := dial(t, p.managerAddr)
	next.must(t, wire.Endsess{Session: c.id}, "")
	fh = open(t, next, "/f", again|wire.OpenRetStat) // like our own client
	next.must(t, wire.Close{Handle: fh}, "")
	if e, err := p.Stat(t.Context(), hemera.Identity{}, "/f"); err != nil || e.Size != 7 {
		t.Errorf("it holds %+v, %v", e, err)
	}
}

// TestLocalWriteIsOpenedTwice checks that all opens after a lost connection are of the same write, until the client
// closes it, also after another loss. Stock clients open again once for each request that was cut off.
func TestLocalWriteIsOpenedTwice(t *testing.T) {
	p, _ := newLocalPair(t, nil)
	c := dial(t, p.managerAddr)
	fh := open(t, c, "/f", wire.OpenNew)
	c.must(t, wire.Write{Handle: fh}, "abc")
	for range 3 {
		_ = c.Close()
		next := dial(t, p.managerAddr)
		next.must(t, wire.Endsess{Session: c.id}, "")
		c = next
		first := open(t, c, "/f", again)
		c.must(t, wire.Write{Handle: first, Offset: 3}, "def")
		fh = open(t, c, "/f", again)
		if got := c.must(t, wire.Read{Handle: fh, Length: 10}, ""); string(got) != "abcdef" {
			t.Errorf("opened again the file holds %q", got)
		}
	}
	c.must(t, wire.Close{Handle: fh}, "")
	if e, err := p.Stat(t.Context(), hemera.Identity{}, "/f"); err != nil || e.Size != 6 {
		t.Errorf("it holds %+v, %v", e, err)
	}
	c.refused(t, wire.Open{Options: again}, "/f", wire.Conflict) // it is closed

	_ = c.Close() // with the other handle open
	next := dial(t, p.managerAddr)
	if _, _, err := next.call(wire.Endsess{Session: c.id}, nil); err != nil { // no writes remain
		t.Fatal(err)
	}
	if status, _, err := next.call(wire.Open{Options: again | wire.OpenRetStat}, []byte("/f")); err != nil || status != wire.StatusRedirect {
		t.Errorf("an update of what is closed: status %d, %v", status, err)
	}
}

// TestLocalWriteIsNotMistaken checks that a client that continues a lost write never gets another content.
func TestLocalWriteIsNotMistaken(t *testing.T) {
	p, _ := newLocalPair(t, nil)
	c := dial(t, p.managerAddr)
	for range 2 {
		open(t, c, "/twice", wire.OpenNew)
	}
	fh := open(t, c, "/refused", wire.OpenNew)
	p.memory.mu.Lock()
	p.memory.fail = func(op string) error {
		if op == "close" {
			return errs.New(errs.Conflict, "close", "", "another write was first")
		}
		return nil
	}
	p.memory.mu.Unlock()
	c.refused(t, wire.Close{Handle: fh}, "", wire.Conflict)
	open(t, c, "/mine", wire.OpenNew)
	p.put("/twice", "another's")
	p.put("/mine", "another's")
	p.put("/forgotten", "another's")
	_ = c.Close()

	stranger := bare(t, p.managerAddr)
	if err := stranger.hello(); err != nil {
		t.Fatal(err)
	}
	stranger.must(t, wire.Login{User: "other"}, "")
	stranger.refused(t, wire.Endsess{Session: c.id}, "", wire.NotFound)
	next := dial(t, p.managerAddr)
	if status, _, err := next.call(wire.Open{Options: again}, []byte("/forgotten")); err != nil || status != wire.StatusRedirect {
		t.Errorf("an update by a client that lost nothing: status %d, %v", status, err)
	}
	next.must(t, wire.Endsess{Session: c.id}, "")
	next.refused(t, wire.Open{Options: again}, "/twice", wire.Conflict)
	for _, options := range []uint16{again, 0} {
		next.refused(t, wire.Open{Options: options}, "/forgotten", wire.Conflict)
	}
	open(t, next, "/forgotten", wire.OpenRead)
	if got := next.must(t, wire.Read{Handle: open(t, next, "/mine", again), Length: 10}, ""); len(got) != 0 {
		t.Errorf("its own write holds %q", got)
	}
	f := p.pendingOf("/refused")
	if next.must(t, wire.Open{Options: again}, "/refused"); p.pendingOf("/refused") != f {
		t.Error("the node was not asked about the write that was refused")
	}
}

// TestLostWritesOfASession checks that a session leaves its writes to its client's next session, once, and a bounded
// number of failed closes.
func TestLostWritesOfASession(t *testing.T) {
	var m writeMemory
	session := func(n byte) *session {
		ss := &session{id: wire.SessionID{n}}
		ss.setIdentity(hemera.Identity{Name: "alice"})
		return ss
	}
	old := session(1)
	for n := range 2 * failedClosesMax {
		old.reconnect.closeFailed(strconv.Itoa(n), hemera.Grant{})
	}
	old.reconnect.closeFailed("/f", hemera.Grant{Permit: hemera.ParsePermit("t")})
	m.add(old)
	m.add(session(2)) // it had no writes
	heir := session(3)
	if m.claim(session(2).id, heir) || !m.claim(old.id, heir) || len(heir.reconnect.lost) == 0 || len(heir.reconnect.lost) > failedClosesMax+1 {
		t.Errorf("the heir has %d writes", len(heir.reconnect.lost))
	}
	if m.claim(old.id, heir) {
		t.Error("a session's writes were given twice")
	}
	if _, lost, err := heir.reconnect.lostWrite("/f", wire.Open{Options: again}); lost || !errors.Is(err, errs.Conflict) && err != nil {
		t.Error(lost, err)
	}
}
