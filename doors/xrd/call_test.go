package xrd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// callsFunc answers calls in a test.
type callsFunc func(ctx context.Context, who hemera.Identity, request []byte, answer func([]byte) error) error

func (f callsFunc) Call(ctx context.Context, who hemera.Identity, request []byte, answer func([]byte) error) error {
	return f(ctx, who, request, answer)
}

// newCalls starts a pair whose manager's door answers calls with f.
func newCalls(t *testing.T, budgets *Budgets, f callsFunc) *pair {
	t.Helper()
	return newPair(t, func(o *Options) {
		o.Budgets = budgets
		if o.Manager != nil {
			o.Manager.Calls = f
		}
	})
}

var callQuery = wire.Query{Kind: wire.QueryOpaque}

// TestCallsAreAnsweredInPieces checks that the message arrives unchanged with the session's identity, and that the answer
// is sent in frames while it is made.
func TestCallsAreAnsweredInPieces(t *testing.T) {
	message := "POST /x HTTP/1.1\r\nUser: root\r\n\r\n\x00\x01" + strings.Repeat("m", 100<<10)
	large := bytes.Repeat([]byte("0123456789abcdef"), 20<<10)
	seen := make(chan struct{})
	p := newCalls(t, nil, func(_ context.Context, who hemera.Identity, request []byte, answer func([]byte) error) error {
		if who.Name != "tester" || who.UID != 1000 || who.Admin {
			t.Errorf("the call is %+v's", who)
		}
		if string(request) != message {
			t.Errorf("%d bytes arrived, %.40q…", len(request), request)
		}
		if err := answer([]byte("first")); err != nil {
			return err
		}
		<-seen
		return answer(large)
	})
	c := dial(t, p.managerAddr)
	if _, err := c.send(callQuery, []byte(wire.OpaqueCall+message)); err != nil {
		t.Fatal(err)
	}
	h, first, err := c.frame()
	if err != nil || h.Status != wire.StatusOKSoFar || string(first) != "first" {
		t.Fatalf("the first frame is %+v %q, %v", h, first, err)
	}
	close(seen)
	if status, rest, err := c.answer(); err != nil || status != wire.StatusOK || !bytes.Equal(rest, large) {
		t.Fatalf("status %v, %d bytes, %v", status, len(rest), err)
	}
	c.refused(t, callQuery, wire.OpaqueCall+strings.Repeat("m", callMax), wire.ArgTooLong)
}

// TestCallsThatFail checks that a failed call ends with an error, also after some frames, and that the connection stays
// usable.
func TestCallsThatFail(t *testing.T) {
	p := newCalls(t, nil, func(_ context.Context, _ hemera.Identity, request []byte, answer func([]byte) error) error {
		if string(request) == "panic" {
			panic("a test's")
		}
		if err := answer([]byte("some")); err != nil {
			return err
		}
		return errs.New(errs.Denied, "call", "", "not for you").WithRemedy("ask an admin")
	})
	c := dial(t, p.managerAddr)
	if _, err := c.send(callQuery, []byte(wire.OpaqueCall)); err != nil {
		t.Fatal(err)
	}
	if h, body, err := c.frame(); err != nil || h.Status != wire.StatusOKSoFar || string(body) != "some" {
		t.Fatalf("the first frame is %+v %q, %v", h, body, err)
	}
	h, body, err := c.frame()
	if e := wire.ParseError(body); err != nil || h.Status != wire.StatusError || e.Code != wire.NotAuthorized || !strings.Contains(e.Text, "ask an admin") {
		t.Fatalf("the last frame is %+v %q, %v", h, body, err)
	}
	c.must(t, wire.Ping{}, "")
	c.refused(t, wire.Query{Kind: wire.QueryOpaque}, "something else", wire.Unsupported)
	if _, err := c.send(callQuery, []byte(wire.OpaqueCall+"panic")); err != nil {
		t.Fatal(err)
	}
	c.closed(t)

	without := newPair(t, nil)
	dial(t, without.managerAddr).refused(t, callQuery, wire.OpaqueCall+"x", wire.Unsupported)
	c = dial(t, without.nodeAddr)
	if status, _, err := c.call(callQuery, []byte(wire.OpaqueCall+"x")); err != nil || status != wire.StatusRedirect {
		t.Errorf("a node answers with status %v, %v", status, err)
	}
}

// TestCallsEndWithTheirConnection checks that the end of the connection ends its call, and that the connection is served
// meanwhile.
func TestCallsEndWithTheirConnection(t *testing.T) {
	budgets := NewBudgets(1024, 0)
	ended := make(chan error, 1)
	begun := make(chan struct{})
	p := newCalls(t, budgets, func(ctx context.Context, _ hemera.Identity, _ []byte, _ func([]byte) error) error {
		close(begun)
		select {
		case <-ctx.Done():
		case <-t.Context().Done():
		}
		ended <- ctx.Err()
		return ctx.Err()
	})
	c := dial(t, p.managerAddr)
	if _, err := c.send(callQuery, []byte(wire.OpaqueCall)); err != nil {
		t.Fatal(err)
	}
	<-begun
	c.must(t, wire.Ping{}, "")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the call ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on")
	}
	drained(t, budgets.Calls)
}

// TestCallsAreBounded checks that a client with its full share must wait, and that another is served.
func TestCallsAreBounded(t *testing.T) {
	budgets := NewBudgets(1024, 0)
	release := make(chan struct{})
	p := newCalls(t, budgets, func(ctx context.Context, who hemera.Identity, request []byte, _ func([]byte) error) error {
		if string(request) == "hold" {
			select {
			case <-release:
			case <-t.Context().Done():
			}
		}
		return nil
	})
	var held []*rawConn
	for range callsPerClient {
		c := dial(t, p.managerAddr)
		if _, err := c.send(callQuery, []byte(wire.OpaqueCall+"hold")); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		for end := time.Now().Add(10 * time.Second); budgets.Calls.Usage().Used != int64(len(held)); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d calls are held, counted are %+v", len(held), budgets.Calls.Usage())
			}
		}
	}
	c := dial(t, p.managerAddr)
	status, body, err := c.call(callQuery, []byte(wire.OpaqueCall))
	if err != nil || status != wire.StatusWait {
		t.Fatalf("one call too many: %v %q %v", status, body, err)
	}
	if used := budgets.Calls.Usage().Used; used >= callsMax {
		t.Errorf("one client has %d of %d", used, callsMax)
	}
	c.must(t, wire.Ping{}, "")
	close(release)
	for _, h := range held {
		if status, _, err := h.answer(); err != nil || status != wire.StatusOK {
			t.Errorf("a call that was held: %v %v", status, err)
		}
	}
	drained(t, budgets.Calls)
	c.must(t, callQuery, wire.OpaqueCall)
}
