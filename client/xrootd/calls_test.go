package xrootd_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// partial answers a request with one frame, which more frames follow.
func partial(r xrootdtest.Request, body string) []byte {
	return wire.AppendResponse(nil, r.Stream, wire.StatusOKSoFar, []byte(body))
}

// TestCall checks that a call follows redirects, obeys waits, and is sent again only if it cannot have arrived.
func TestCall(t *testing.T) {
	var turns atomic.Int64
	there := xrootdtest.New(t, xrootdtest.Manager, func(r xrootdtest.Request) []byte {
		if q := wire.DecodeQuery(r.Body); r.ID != wire.ReqQuery || q.Kind != wire.QueryOpaque {
			return []byte{}
		}
		if turns.Add(1) == 1 {
			return wire.AppendResponse(nil, r.Stream, wire.StatusWait, wire.Wait{Text: "too many"}.Append(nil))
		}
		switch message, _ := strings.CutPrefix(r.Payload, wire.OpaqueCall); message {
		case "fine\n\x00":
			return append(partial(r, "one"), xrootdtest.Good(r, []byte("two"))...)
		case "refused":
			return append(partial(r, "one"), xrootdtest.Bad(r, wire.NotAuthorized, "not for you")...)
		case "unknown":
			return xrootdtest.Bad(r, wire.Unsupported, "no plugin answers this query")
		case "endless":
			return partial(r, "one")
		}
		return []byte{}
	})
	node := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte { return xrootdtest.Redirect(r, there, "") })
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	var answer string
	call := func(message string) error {
		answer = ""
		return c.Call(t.Context(), node.URL("/"), []byte(message), func(b []byte) error { answer += string(b); return nil })
	}
	if err := call("fine\n\x00"); err != nil || answer != "onetwo" {
		t.Errorf("%q, %v", answer, err)
	}
	if err := call("refused"); !errors.Is(err, errs.Denied) || !strings.Contains(err.Error(), "not for you") {
		t.Errorf("what is refused: %v", err)
	}
	if err := call("unknown"); !errors.Is(err, errs.Unsupported) || !strings.Contains(errs.RemedyOf(err), "version") {
		t.Errorf("a server without calls: %v (%s)", err, errs.RemedyOf(err))
	}
	before := len(there.Got(wire.ReqQuery))
	if err := call("lost"); !errors.Is(err, errs.Unavailable) {
		t.Errorf("a connection that is lost: %v", err)
	}
	if again := len(there.Got(wire.ReqQuery)) - before; again != 1 {
		t.Errorf("a call that may have arrived was sent %d times", again)
	}
	enough := errors.New("enough")
	if err := c.Call(t.Context(), there.URL("/"), []byte("endless"), func([]byte) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a caller that has enough: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Call(ctx, there.URL("/"), []byte("endless"), func([]byte) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that cancels: %v", err)
	}
}
