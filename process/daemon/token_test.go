package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
)

// TestNodeAsksForAToken: it asks once, if it has neither a certificate nor a token.
func TestNodeAsksForAToken(t *testing.T) {
	dir := t.TempDir()
	log := keptLog(t)
	m, err := OpenManager(t.Context(), ManagerOptions{Dir: filepath.Join(dir, "manager"), Listen: "127.0.0.1:0", CacheBytes: 8 << 20, TokenLifetime: time.Hour, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer serving(t, m.Run)()
	asked := 0
	create := func(ctx context.Context) (string, error) {
		asked++
		return tokens{m.authority, m.Addr, time.Hour}.CreateToken(ctx, adminapi.TokenRequest{Uses: 1})
	}
	refuse := func(context.Context) (string, error) {
		asked++
		return "", errs.New(errs.Denied, "test.AskToken", "", "not for you")
	}
	token, err := create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, dir, join string
		ask             func(context.Context) (string, error)
		asked           int
		err             error
	}{
		{"nobody to ask", "a", "", nil, 0, errs.NotFound},
		{"refused", "a", "", refuse, 1, errs.Denied},
		{"answered", "a", "", create, 1, nil},
		{"has joined", "a", "", refuse, 0, nil},
		{"has a token", "b", token, refuse, 0, nil},
	} {
		asked = 0
		n, err := OpenNode(t.Context(), NodeOptions{Dir: filepath.Join(dir, c.dir), Listen: "127.0.0.1:0", Join: c.join, AskToken: c.ask, Log: log})
		if !errors.Is(err, c.err) || asked != c.asked {
			t.Errorf("%s: asked %d times, %v", c.what, asked, err)
		}
		if err == nil {
			n.close()
		}
	}
}
