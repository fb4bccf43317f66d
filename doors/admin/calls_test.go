package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	adminclient "hemera/client/admin"
	"hemera/test/fixture"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// doorCaller passes a client's calls through a door with an authenticated identity.
type doorCaller struct {
	calls  adminapi.Calls
	who    hemera.Identity
	pieces []int // their sizes
}

func (c *doorCaller) Call(ctx context.Context, request []byte, answer func([]byte) error) error {
	return c.calls.Call(ctx, c.who, request, func(b []byte) error {
		c.pieces = append(c.pieces, len(b))
		return answer(b)
	})
}

func (*doorCaller) Close() error { return nil }

// clientThrough returns a client of a manager on another machine.
func clientThrough(t *testing.T, way *doorCaller) *adminclient.Client {
	t.Helper()
	c, err := adminclient.DialFrom("root://192.0.2.1:1094", way)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// callingAs returns a client of a fixture through another door, and the record of that door. Requests over HTTP are
// refused.
func callingAs(t *testing.T, who hemera.Identity) (*fixture.Cluster, *adminclient.Client, *doorCaller) {
	t.Helper()
	cluster := fixture.NewCluster()
	h := NewHandler(Services{
		Cluster: cluster, Maint: cluster, Observe: cluster, Quota: cluster, Status: cluster, Names: cluster.Tree,
		Directories: cluster.Tree, Attributes: cluster.Tree, Version: adminapi.VersionInfo{Version: "v1"},
	}, func(*http.Request) (hemera.Identity, error) {
		return hemera.Identity{}, errs.New(errs.Unauthenticated, "authorize", "", "not by HTTP")
	})
	way := &doorCaller{calls: NewCalls(h), who: who}
	return cluster, clientThrough(t, way), way
}

var alice = hemera.Identity{Name: "alice", UID: 1001, GID: 100, Host: "192.0.2.7"}

// TestUsersHaveTheirVerbsThroughAnotherDoor calls verbs of users with one answer and with many.
func TestUsersHaveTheirVerbsThroughAnotherDoor(t *testing.T) {
	ctx := hemera.WithTrace(t.Context(), "0123456789abcdef")
	_, c, way := callingAs(t, alice)
	var found []string
	sum, err := c.Names.Walk(ctx, adminapi.WalkRequest{Path: "/"}, func(f adminapi.Found) error {
		found = append(found, f.Path)
		if f.Entry.Xattrs != nil {
			t.Errorf("%s comes with attributes", f.Path)
		}
		return nil
	})
	if err != nil || len(found) < 5 || sum.Files == 0 {
		t.Errorf("found %v, %+v, %v", found, sum, err)
	}
	for what, err := range map[string]error{
		"set an attribute": c.Attributes.SetXattr(ctx, alice, "/exp/notes.txt", "user.a", []byte{0, 255}, true),
		"set a mode":       c.Attributes.SetMode(ctx, alice, "/exp/notes.txt", 0o600),
		"remove":           c.Names.Remove(ctx, alice, "/exp/run1/b.dat", hemera.KindFile),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if e, err := c.Names.Stat(ctx, alice, "/exp/notes.txt"); err != nil || e.Mode != 0o600 || string(e.Xattrs["user.a"]) != "\x00\xff" {
		t.Errorf("stat: %+v, %v", e, err)
	}
	if why, err := c.Status.Why(ctx, alice, adminapi.WhyFile, "/exp/notes.txt"); err != nil || why.Subject != "/exp/notes.txt" {
		t.Errorf("why: %+v, %v", why, err)
	}
	if spaces, err := c.Cluster.Spaces(ctx); err != nil || len(spaces) == 0 {
		t.Errorf("spaces: %v, %v", spaces, err)
	}
	_, err = c.Names.Stat(ctx, alice, "/nowhere")
	if !errors.Is(err, errs.NotFound) || adminclient.TraceOf(err) != "0123456789abcdef" {
		t.Errorf("of what is not there: %v, trace %q", err, adminclient.TraceOf(err))
	}
	if err := c.Names.List(ctx, alice, "/nowhere", func(hemera.Entry) error { return nil }); !errors.Is(err, errs.NotFound) {
		t.Errorf("a list of what is not there: %v", err)
	}
	for _, n := range way.pieces {
		if n > answerPiece {
			t.Errorf("a piece of %d bytes", n)
		}
	}
}

// TestAdminVerbsAreRefusedToUsers checks that users of another door cannot call admin verbs, whatever their requests
// contain.
func TestAdminVerbsAreRefusedToUsers(t *testing.T) {
	_, c, way := callingAs(t, alice)
	_, viewErr := c.Cluster.View(t.Context())
	_, statusErr := c.Status.Status(t.Context())
	_, whyErr := c.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyDisk, "4")
	_, checkErr := c.Maint.CheckFile(t.Context(), "/exp/notes.txt", false)
	_, lostErr := c.Names.Walk(t.Context(), adminapi.WalkRequest{Path: "/", Standing: adminapi.FileLost}, func(adminapi.Found) error { return nil })
	for verb, err := range map[string]error{
		"View": viewErr, "Status": statusErr, "Why": whyErr, "CheckFile": checkErr, "Walk --lost": lostErr,
		"Backup": c.Backups.Backup(t.Context(), io.Discard), "SetQuota": c.Quota.SetQuota(t.Context(), hemera.QuotaKey{}, hemera.QuotaAmount{}),
	} {
		if !errors.Is(err, errs.Denied) || !strings.Contains(errs.RemedyOf(err), "on the manager's host") {
			t.Errorf("%s: %v (%s)", verb, err, errs.RemedyOf(err))
		}
	}
	var answer strings.Builder
	ask := func(request string) error {
		answer.Reset()
		return way.Call(t.Context(), []byte(request), func(b []byte) error { answer.Write(b); return nil })
	}
	const head = "POST /hemera.admin.v1.Admin/View HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
	if err := ask(head + "X-Forwarded-For: 127.0.0.1\r\nAuthorization: root\r\n\r\n{}"); err != nil || !strings.HasPrefix(answer.String(), "HTTP/1.1 403 ") {
		t.Errorf("claims are answered with %v, %.80q", err, answer.String())
	}
	for _, request := range []string{
		"GET /metrics HTTP/1.1\r\n\r\n", "POST /debug/pprof/symbol HTTP/1.1\r\n\r\n", "GET /hemera.admin.v1.Admin/Stat HTTP/1.1\r\n\r\n",
		"POST http://h/debug/pprof/ HTTP/1.1\r\n\r\n",
	} {
		if err := ask(request); !errors.Is(err, errs.Unsupported) || answer.Len() > 0 {
			t.Errorf("%q: %v, %q", request, err, answer.String())
		}
	}
	for _, request := range []string{"", "x", "POST /\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"} {
		if err := ask(request); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", request, err)
		}
	}
}

// FuzzCall checks that no request of a user runs an admin's verb.
func FuzzCall(f *testing.F) {
	for _, seed := range []string{
		"POST /hemera.admin.v1.Admin/Operations HTTP/1.1\r\nContent-Type: application/json\r\n\r\n",
		"POST /hemera.admin.v1.Admin/Walk HTTP/1.1\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n\x00\x00\x00\x00\x02{}\r\n0\r\n\r\n",
		"POST /hemera.admin.v1.Admin/../Admin/Operations HTTP/2.0\r\nContent-Type: application/grpc+json\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	ran := false
	h := NewHandler(Services{Observe: watched{ran: &ran}}, nil)
	f.Fuzz(func(t *testing.T, request []byte) {
		_ = NewCalls(h).Call(t.Context(), alice, request, func([]byte) error { return nil })
		if ran {
			t.Error("an admin's verb was run")
		}
	})
}

// watched records whether it was called.
type watched struct {
	adminapi.Observer
	ran *bool
}

func (w watched) Operations(context.Context) ([]adminapi.OpStat, error) {
	*w.ran = true
	return nil, nil
}

// TestWhoAmIIsWhomTheDoorProved checks that WhoAmI of a user of another machine returns the identity of the session,
// whatever the request contains.
func TestWhoAmIIsWhomTheDoorProved(t *testing.T) {
	_, c, _ := callingAs(t, alice)
	who, err := c.About.WhoAmI(t.Context())
	if err != nil || who.Name != alice.Name || who.UID != alice.UID || who.GID != alice.GID || who.Host != alice.Host || who.Admin {
		t.Errorf("she is %+v, %v", who, err)
	}
}
