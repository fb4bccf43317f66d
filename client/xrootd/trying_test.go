package xrootd_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

// While a client tries for long to connect, it must report that.
func TestTryingIsTold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close() // nothing listens there
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	c := xrootd.New(xrootd.Options{Trying: func(cause error, atMost time.Duration) {
		told++
		if errs.RemedyOf(cause) == "" || !errors.Is(cause, errs.Unavailable) || atMost != 30*time.Second {
			t.Errorf("told %v, remedy %q, for %v", cause, errs.RemedyOf(cause), atMost)
		}
		cancel()
	}})
	defer c.Close()
	u, err := xrootd.ParseURL("root://" + addr + "//file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stat(ctx, u); err == nil {
		t.Error("there is a server after all")
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
