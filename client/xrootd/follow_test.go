package xrootd_test

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/wire"
	"hemera/words/errs"
)

func quick(t *testing.T) *xrootd.Client {
	c := xrootd.New(xrootd.Options{RetryFor: time.Second})
	t.Cleanup(func() { c.Close() })
	return c
}

func TestRedirectBringsOpaque(t *testing.T) {
	node := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte { return xrootdtest.Opened(r, 5) })
	head := xrootdtest.New(t, xrootdtest.Manager, func(r xrootdtest.Request) []byte {
		return xrootdtest.Redirect(r, node, "hem.cap=TOKEN&hem.node=3&mine=theirs")
	})
	u := head.URL("/dir/f")
	u.Opaque = "mine=1&keep=2"
	f, err := quick(t).Open(t.Context(), u, xrootd.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path, opaque := wire.SplitPath([]byte(node.Got(wire.ReqOpen)[0].Payload))
	if path != "/dir/f" || opaque.Value("hem.cap") != "TOKEN" || opaque.Value("mine") != "theirs" || opaque.Value("keep") != "2" {
		t.Errorf("the node was asked for %s?%s", path, opaque)
	}
	if f.Info().Size != 5 || f.URL().Port != node.Port() {
		t.Errorf("opened %+v at %s", f.Info(), f.URL().Redacted())
	}
}

func TestRedirectsInACircleEnd(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.Manager, func(r xrootdtest.Request) []byte { return xrootdtest.Redirect(r, r.At, "") })
	if _, err := quick(t).Stat(t.Context(), s.URL("/f")); !errors.Is(err, errs.Unavailable) {
		t.Errorf("stat in a circle: %v", err)
	}
	if n := len(s.Got(wire.ReqStat)); n != 17 {
		t.Errorf("%d requests were made, want 17", n)
	}
}

// The client must tell the manager which nodes failed: both have the same host name here.
func TestOpenGoesRoundFailingNodes(t *testing.T) {
	good1 := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte { return xrootdtest.Opened(r, 1) })
	sick := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte { return xrootdtest.Bad(r, wire.IOError, "disk on fire") })
	gone := xrootdtest.New(t, xrootdtest.DataServer, nil)
	gone.Stop()
	turn := 0
	nodes := []struct {
		at   *xrootdtest.Server
		node wire.Opaque
	}{{sick, "hem.node=1&hem.cap=a"}, {gone, "hem.node=2&hem.cap=b"}, {good1, "hem.node=3&hem.cap=c"}}
	head := xrootdtest.New(t, xrootdtest.Manager, func(r xrootdtest.Request) []byte {
		n := nodes[turn]
		turn++
		return xrootdtest.Redirect(r, n.at, n.node)
	})
	if _, err := quick(t).Open(t.Context(), head.URL("/f"), xrootd.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	opens := head.Got(wire.ReqOpen)
	if len(opens) != 3 {
		t.Fatalf("the manager was asked %d times", len(opens))
	}
	_, o := wire.SplitPath([]byte(opens[2].Payload))
	if o.Value("tried") != "127.0.0.1,127.0.0.1" || o.Value("triedrc") != "ioerr,srverr" || o.Value("hem.node") != "1,2" || o.Has("hem.cap") {
		t.Errorf("the last question to the manager was %s", o)
	}
	if _, o := wire.SplitPath([]byte(good1.Got(wire.ReqOpen)[0].Payload)); o.Has("tried") || o.Value("hem.node") != "3" {
		t.Errorf("the good node was asked with %s", o)
	}
}

func TestReadMovesToAnotherNodeOnError(t *testing.T) {
	data := xrootdtest.Pattern(300_000)
	whole := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqOpen:
			return xrootdtest.Opened(r, int64(len(data)))
		case wire.ReqPgread:
			return xrootdtest.Pages(r, data)
		}
		return xrootdtest.Good(r, nil)
	})
	sick := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch {
		case r.ID == wire.ReqOpen:
			return xrootdtest.Opened(r, int64(len(data)))
		case r.ID == wire.ReqPgread && wire.DecodePgread(r.Body).Offset > 100_000:
			return xrootdtest.Bad(r, wire.IOError, "unreadable")
		case r.ID == wire.ReqPgread:
			return xrootdtest.Pages(r, data)
		}
		return xrootdtest.Good(r, nil)
	})
	head := xrootdtest.New(t, xrootdtest.Manager, func(r xrootdtest.Request) []byte {
		if strings.Contains(r.Payload, "hem.node=1") {
			return xrootdtest.Redirect(r, whole, "hem.node=2")
		}
		return xrootdtest.Redirect(r, sick, "hem.node=1")
	})
	c := xrootd.New(xrootd.Options{Chunk: 64 << 10})
	defer c.Close()
	f, err := c.Open(t.Context(), head.URL("/f"), xrootd.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, len(data))
	if n, err := f.ReadAt(t.Context(), p, 0); err != nil || !bytes.Equal(p, data) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	// The client does not wait for the answer to the close. It is in order with this request on the same connection.
	_, _ = c.Stat(t.Context(), sick.URL("/f"))
	if len(sick.Got(wire.ReqClose)) != 1 {
		t.Error("the handle at the failing node was not closed")
	}
}

func TestWaitIsObeyed(t *testing.T) {
	times := 0
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		if times++; times < 3 {
			return wire.AppendResponse(nil, r.Stream, wire.StatusWait, wire.Wait{Seconds: 0, Text: "busy"}.Append(nil))
		}
		return xrootdtest.Good(r, append(wire.StatInfo{ID: 1, Size: 9}.Append(nil), 0))
	})
	if i, err := quick(t).Stat(t.Context(), s.URL("/f")); err != nil || i.Size != 9 || times != 3 {
		t.Errorf("stat after waits: %+v, %v, asked %d times", i, err, times)
	}
}

func TestPromisedAnswerComes(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		b := wire.AppendResponse(nil, r.Stream, wire.StatusWaitResp, wire.Wait{Seconds: 5}.Append(nil))
		return wire.AppendAsync(b, r.Stream, wire.StatusOK, []byte("adler32 00620062\x00"))
	})
	sum, err := quick(t).Checksum(t.Context(), s.URL("/f"), 0)
	if err != nil || sum.String() != "adler32:00620062" {
		t.Errorf("checksum %s, %v", sum, err)
	}
}

func TestAuthenticationTriesOffersInTurn(t *testing.T) {
	answer := func(r xrootdtest.Request) []byte {
		switch {
		case r.ID == wire.ReqAuth && strings.HasPrefix(r.Payload, "host"):
			return xrootdtest.Bad(r, wire.AuthFailed, "not from here")
		case r.ID == wire.ReqAuth && r.Payload == "unix\x00alice\x00":
			return xrootdtest.Good(r, nil)
		case r.ID == wire.ReqPing:
			return xrootdtest.Good(r, nil)
		}
		return xrootdtest.Bad(r, wire.InvalidRequest, "unexpected")
	}
	s := xrootdtest.NewSecure(t, "&P=gsi,v:10600,c:ssl&P=host&P=unix", answer)
	e := s.URL("/").Endpoint
	e.User = "alice"
	if err := quick(t).Ping(t.Context(), e); err != nil {
		t.Error(err)
	}
	s = xrootdtest.NewSecure(t, "&P=gsi,v:10600", answer)
	if _, err := xrootd.Dial(t.Context(), s.URL("/").Endpoint, xrootd.Options{}); !errors.Is(err, errs.Unauthenticated) {
		t.Errorf("login where only gsi is offered: %v", err)
	}
}

func TestSilentServerIsGivenUp(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(xrootdtest.Request) []byte { return nil })
	c := xrootd.New(xrootd.Options{Stall: 200 * time.Millisecond, RetryFor: time.Nanosecond})
	defer c.Close()
	if err := c.Remove(t.Context(), s.URL("/f")); !errors.Is(err, errs.Unavailable) {
		t.Errorf("remove at a silent server: %v", err)
	}
	if n := len(s.Got(wire.ReqRm)); n != 1 {
		t.Errorf("a change that may have happened was asked for %d times", n)
	}
}

func TestBadPageIsReadAgain(t *testing.T) {
	data := xrootdtest.Pattern(20_000)
	var damage atomic.Int32
	damage.Store(2)
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		if r.ID == wire.ReqOpen {
			return xrootdtest.Opened(r, int64(len(data)))
		}
		b := xrootdtest.Pages(r, data)
		if damage.Add(-1) >= 0 {
			b[len(b)-1] ^= 1
		}
		return b
	})
	c := quick(t)
	f, err := c.Open(t.Context(), s.URL("/f"), xrootd.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, len(data))
	sums := make([]uint32, wire.Fragments(0, int64(len(data))))
	if _, err := f.ReadPages(t.Context(), p, sums, 0); err != nil || !bytes.Equal(p, data) {
		t.Errorf("read with damaged pages: %v", err)
	}
	reads := s.Got(wire.ReqPgread)
	if last := reads[len(reads)-1]; len(reads) != 3 || last.Payload != "\x00\x01" || wire.DecodePgread(last.Body).Offset != 16384 {
		t.Errorf("%d reads, the last %+v", len(reads), last)
	}
	damage.Store(100)
	if _, err := f.ReadPages(t.Context(), p, sums, 0); !errors.Is(err, errs.Corrupt) {
		t.Errorf("read of a page that stays bad: %v", err)
	}
}

func TestBadPageIsWrittenAgain(t *testing.T) {
	data := xrootdtest.Pattern(20_000)
	const off = 1000
	complaints := 1
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqOpen:
			return xrootdtest.Opened(r, 0)
		case wire.ReqPgwrite:
			if complaints > 0 {
				complaints--
				return xrootdtest.Written(r, wire.PageErrors{FirstLength: 4096, LastLength: 4096, Offsets: []int64{off, 8192}}.Append(nil))
			}
			return xrootdtest.Written(r, nil)
		}
		return xrootdtest.Good(r, nil)
	})
	f, err := quick(t).Open(t.Context(), s.URL("/f"), xrootd.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteAt(t.Context(), data, off); err != nil {
		t.Fatal(err)
	}
	writes := s.Got(wire.ReqPgwrite)
	if len(writes) != 3 {
		t.Fatalf("%d writes", len(writes))
	}
	for i, want := range []struct{ off, n int }{{off, 3096}, {8192, 4096}} {
		w := wire.DecodePgwrite(writes[i+1].Body)
		page, sums, err := wire.CutPages([]byte(writes[i+1].Payload), make([]uint32, 1), w.Offset)
		if err != nil || int(w.Offset) != want.off || w.Flags != wire.PageRetry || !bytes.Equal(page, data[want.off-off:want.off-off+want.n]) || sums[0] != wire.CRC32C(page) {
			t.Errorf("page %d sent again at %d with %d bytes, flags %d, %v", i, w.Offset, len(page), w.Flags, err)
		}
	}
}

// TestADamagedPageEndsAnAsynchronousWriter checks that the write fails: the writer has no copy of the sent bytes, so the
// file must not be sealed.
func TestADamagedPageEndsAnAsynchronousWriter(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqOpen:
			return xrootdtest.Opened(r, 0)
		case wire.ReqPgwrite:
			return xrootdtest.Written(r, wire.PageErrors{FirstLength: 4096, LastLength: 4096, Offsets: []int64{4096}}.Append(nil))
		}
		return xrootdtest.Good(r, nil)
	})
	w, err := quick(t).OpenAsync(t.Context(), s.URL("/f"), xrootd.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	data := xrootdtest.Pattern(20_000)
	if err := w.WritePages(data, xrootdtest.Sums(data, 0), 0); err != nil && !errors.Is(err, errs.IO) { // the answer may have arrived
		t.Fatal(err)
	}
	if _, err := w.Query(t.Context(), "seal", "seal"); !errors.Is(err, errs.IO) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("seal after a damaged page: %v", err)
	}
	if n := len(s.Got(wire.ReqQuery)); n != 0 {
		t.Errorf("the server got %d queries", n)
	}
}

// A write that the node has forgotten must not be continued, because the file would have a hole.
func TestForgottenWriteFails(t *testing.T) {
	var opens atomic.Int32
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqOpen:
			opens.Add(1)
			return xrootdtest.Opened(r, 0)
		case wire.ReqPgwrite:
			if wire.DecodePgwrite(r.Body).Offset > 0 {
				return []byte("nonsense that ends the session")
			}
			return xrootdtest.Written(r, nil)
		}
		return xrootdtest.Good(r, nil)
	})
	f, err := quick(t).Open(t.Context(), s.URL("/f"), xrootd.OpenOptions{Write: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteAt(t.Context(), xrootdtest.Pattern(5000), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteAt(t.Context(), xrootdtest.Pattern(5000), 5000); !errors.Is(err, errs.Conflict) || opens.Load() != 2 {
		t.Errorf("write after the server forgot the file: %v, %d opens", err, opens.Load())
	}
	if err := f.Close(t.Context()); !errors.Is(err, errs.Conflict) {
		t.Errorf("close after the server forgot the file: %v", err)
	}
}

// TestAReadThatIsSentElsewhere checks that the client opens the file at the server of the redirect, with its opaque data,
// and continues to read there.
func TestAReadThatIsSentElsewhere(t *testing.T) {
	data := xrootdtest.Pattern(300_000)
	good := xrootdtest.New(t, xrootdtest.DataServer, xrootdtest.OneFile(data))
	manager := xrootdtest.New(t, xrootdtest.Manager, func(r xrootdtest.Request) []byte { return xrootdtest.Redirect(r, good, "") })
	bad := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		if q := wire.DecodePgread(r.Body); r.ID == wire.ReqPgread && q.Offset+int64(q.Length) > 100_000 {
			return xrootdtest.Redirect(r, manager, wire.OpaqueNoPiece+"=7")
		}
		return xrootdtest.OneFile(data)(r)
	})
	f, err := quick(t).Open(t.Context(), bad.URL("/f"), xrootd.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{0, 100_000, 200_000, 50_000} {
		got := make([]byte, 50_000)
		if n, err := f.ReadAt(t.Context(), got, off); err != nil || !bytes.Equal(got[:n], data[off:off+50_000]) {
			t.Errorf("at %d: %d bytes, %v", off, n, err)
		}
	}
	for _, s := range []*xrootdtest.Server{manager, good} {
		opened := s.Got(wire.ReqOpen)
		if len(opened) != 1 {
			t.Fatalf("%d opens", len(opened))
		}
		if _, opaque := wire.SplitPath([]byte(opened[0].Payload)); opaque.Value(wire.OpaqueNoPiece) != "7" {
			t.Errorf("opened with %s", opaque)
		}
	}
}
