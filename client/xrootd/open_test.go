package xrootd_test

import (
	"errors"
	"testing"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// TestWhereStaysAtTheManager checks that Where returns the node of the redirect with its permission, and does not connect
// to it.
func TestWhereStaysAtTheManager(t *testing.T) {
	node := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte { return xrootdtest.Opened(r, 5) })
	head := xrootdtest.New(t, xrootdtest.Manager, func(r xrootdtest.Request) []byte { return xrootdtest.Redirect(r, node, "hem.cap=secret") })
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	to, err := c.Where(t.Context(), head.URL("/a"), xrootd.OpenOptions{Write: true})
	if err != nil || to.Port != node.Port() || to.Path != "/a" || to.Opaque.Value("hem.cap") != "secret" {
		t.Fatalf("%+v, %v", to, err)
	}
	if n := len(node.Got(wire.ReqOpen)); n != 0 {
		t.Errorf("the node was asked %d times", n)
	}
	if f, err := c.Open(t.Context(), to, xrootd.OpenOptions{Write: true}); err != nil || f.Info().Size != 5 {
		t.Errorf("where it led: %v", err)
	}
}

// TestWhereOfAServerThatOpens checks that the file is closed again at a server without a manager, which opens it.
func TestWhereOfAServerThatOpens(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		if r.ID == wire.ReqOpen {
			return xrootdtest.Opened(r, 5)
		}
		return xrootdtest.Good(r, nil)
	})
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	if _, err := c.Where(t.Context(), s.URL("/a"), xrootd.OpenOptions{}); !errors.Is(err, errs.Unsupported) {
		t.Errorf("%v", err)
	}
	if err := c.Ping(t.Context(), s.URL("/a").Endpoint); err != nil || len(s.Got(wire.ReqClose)) != 1 {
		t.Errorf("it was closed %d times, %v", len(s.Got(wire.ReqClose)), err)
	}
}
