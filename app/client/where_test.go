package client_test

import (
	"errors"
	"testing"

	"hemera/app/client"
	"hemera/errs"
	"hemera/rules/wire"
)

// TestWhereStaysAtTheManager: the answer leads to the node with its permission, and nobody goes there.
func TestWhereStaysAtTheManager(t *testing.T) {
	node := newScript(t, dataServer, func(r asked) []byte { return opened(r, 5) })
	head := newScript(t, manager, func(r asked) []byte { return redirect(r, node, "hem.cap=secret") })
	c := client.New(client.Options{})
	defer c.Close()
	to, err := c.Where(t.Context(), head.url("/a"), client.OpenOptions{Write: true})
	if err != nil || to.Port != node.port() || to.Path != "/a" || to.Opaque.Value("hem.cap") != "secret" {
		t.Fatalf("%+v, %v", to, err)
	}
	if n := len(node.got(wire.ReqOpen)); n != 0 {
		t.Errorf("the node was asked %d times", n)
	}
	if f, err := c.Open(t.Context(), to, client.OpenOptions{Write: true}); err != nil || f.Info().Size != 5 {
		t.Errorf("where it led: %v", err)
	}
}

// TestWhereOfAServerThatOpens: a server without a manager opens the file, which is closed again.
func TestWhereOfAServerThatOpens(t *testing.T) {
	s := newScript(t, dataServer, func(r asked) []byte {
		if r.ID == wire.ReqOpen {
			return opened(r, 5)
		}
		return good(r, nil)
	})
	c := client.New(client.Options{})
	defer c.Close()
	if _, err := c.Where(t.Context(), s.url("/a"), client.OpenOptions{}); !errors.Is(err, errs.Unsupported) {
		t.Errorf("%v", err)
	}
	if err := c.Ping(t.Context(), s.url("/a").Endpoint); err != nil || len(s.got(wire.ReqClose)) != 1 {
		t.Errorf("it was closed %d times, %v", len(s.got(wire.ReqClose)), err)
	}
}
