package admin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hemera/test/fixture"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// doorCaller is a client's way through a door that says who it is.
type doorCaller struct {
	calls  hemera.Calls
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

// callingAs is a client of a fixture through another door, and what the door saw. Nobody is let in by HTTP.
func callingAs(t *testing.T, who hemera.Identity) (*fixture.Cluster, *Client, *doorCaller) {
	t.Helper()
	cluster := fixture.NewCluster()
	h := NewHandler(Services{
		Cluster: cluster, Maint: cluster, Observe: cluster, Quota: cluster, Status: cluster, Names: cluster.Tree,
		Directories: cluster.Tree, Attributes: cluster.Tree, Version: VersionInfo{Version: "v1"},
	}, func(*http.Request) (hemera.Identity, error) {
		return hemera.Identity{}, errs.New(errs.Unauthenticated, "authorize", "", "not by HTTP")
	})
	way := &doorCaller{calls: NewCalls(h), who: who}
	c := clientOf(&server{base: "http://there:1094", addr: "there:1094", http: &http.Client{Transport: through{way}}})
	t.Cleanup(c.Close)
	return cluster, c, way
}

var alice = hemera.Identity{Name: "alice", UID: 1001, GID: 100, Host: "192.0.2.7"}

// TestUsersHaveTheirVerbsThroughAnotherDoor, with one answer and with many.
func TestUsersHaveTheirVerbsThroughAnotherDoor(t *testing.T) {
	ctx := hemera.WithTrace(t.Context(), "0123456789abcdef")
	_, c, way := callingAs(t, alice)
	var found []string
	sum, err := c.Walk(ctx, WalkRequest{Path: "/"}, func(f Found) error {
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
		"set an attribute": c.SetXattr(ctx, alice, "/exp/notes.txt", "user.a", []byte{0, 255}, true),
		"set a mode":       c.SetMode(ctx, alice, "/exp/notes.txt", 0o600),
		"remove":           c.Remove(ctx, alice, "/exp/run1/b.dat", hemera.KindFile),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if e, err := c.Stat(ctx, alice, "/exp/notes.txt"); err != nil || e.Mode != 0o600 || string(e.Xattrs["user.a"]) != "\x00\xff" {
		t.Errorf("stat: %+v, %v", e, err)
	}
	if why, err := c.Why(ctx, alice, hemera.WhyFile, "/exp/notes.txt"); err != nil || why.Subject != "/exp/notes.txt" {
		t.Errorf("why: %+v, %v", why, err)
	}
	if spaces, err := c.Spaces(ctx); err != nil || len(spaces) == 0 {
		t.Errorf("spaces: %v, %v", spaces, err)
	}
	_, err = c.Stat(ctx, alice, "/nowhere")
	if !errors.Is(err, errs.NotFound) || TraceOf(err) != "0123456789abcdef" {
		t.Errorf("of what is not there: %v, trace %q", err, TraceOf(err))
	}
	if err := c.List(ctx, alice, "/nowhere", func(hemera.Entry) error { return nil }); !errors.Is(err, errs.NotFound) {
		t.Errorf("a list of what is not there: %v", err)
	}
	for _, n := range way.pieces {
		if n > answerPiece {
			t.Errorf("a piece of %d bytes", n)
		}
	}
}

// TestAdminVerbsAreRefusedToUsers of another door, whatever their requests say.
func TestAdminVerbsAreRefusedToUsers(t *testing.T) {
	_, c, way := callingAs(t, alice)
	_, viewErr := c.View(t.Context())
	_, statusErr := c.Status(t.Context())
	_, whyErr := c.Why(t.Context(), hemera.SystemIdentity(), hemera.WhyDisk, "4")
	_, checkErr := c.CheckFile(t.Context(), "/exp/notes.txt", false)
	_, lostErr := c.Walk(t.Context(), WalkRequest{Path: "/", Standing: hemera.FileLost}, func(Found) error { return nil })
	for verb, err := range map[string]error{
		"View": viewErr, "Status": statusErr, "Why": whyErr, "CheckFile": checkErr, "Walk --lost": lostErr,
		"Backup": c.Backup(t.Context(), io.Discard), "SetQuota": c.SetQuota(t.Context(), hemera.QuotaKey{}, hemera.QuotaAmount{}),
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

// TestCallsOfADoorThatFails keep its error.
func TestCallsOfADoorThatFails(t *testing.T) {
	for name, before := range map[string]string{"before the answer": "", "within the answer": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"} {
		way := failingCaller{before, errs.New(errs.Unavailable, "xrootd.Query", "root://there", "the connection was lost").WithRemedy("try again")}
		c := clientOf(&server{base: "http://there", addr: "there", http: &http.Client{Transport: through{way}}})
		_, err := c.Stat(t.Context(), alice, "/exp")
		if !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) != "try again" || strings.Contains(err.Error(), "Post") {
			t.Errorf("%s: %v (%s)", name, err, errs.RemedyOf(err))
		}
	}
}

type failingCaller struct {
	before string
	err    error
}

func (c failingCaller) Call(_ context.Context, _ []byte, answer func([]byte) error) error {
	if c.before != "" {
		if err := answer([]byte(c.before)); err != nil {
			return err
		}
	}
	return c.err
}

func (failingCaller) Close() error { return nil }

// TestWalkThroughADoorEndsWithItsListener: the call's context ends when nobody wants the rest.
func TestWalkThroughADoorEndsWithItsListener(t *testing.T) {
	ended := make(chan struct{})
	c := clientOf(&server{base: "http://there", addr: "there", http: &http.Client{Transport: through{endless{ended}}}})
	enough := errors.New("enough")
	_, err := c.Walk(t.Context(), WalkRequest{Path: "/"}, func(Found) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("the walk ended with %v", err)
	}
	<-ended
}

// endless answers one message of a walk, and then waits until it has to end.
type endless struct{ ended chan struct{} }

func (e endless) Call(ctx context.Context, _ []byte, answer func([]byte) error) error {
	defer close(e.ended)
	const message = `{"Found":[{"Path":"/a"}]}`
	if err := answer([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\n\r\n\x00\x00\x00\x00\x19" + message)); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (endless) Close() error { return nil }

// TestNearestGoesByTheMachine: by HTTP to this one, through the door to others.
func TestNearestGoesByTheMachine(t *testing.T) {
	for host, here := range map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, "192.0.2.1": false, "no-such-host.invalid": true} {
		if onThisMachine(t.Context(), host) != here {
			t.Errorf("%s is on this machine: %v", host, !here)
		}
	}
	var refusal error
	server := httptest.NewServer(NewHandler(Services{Version: VersionInfo{Version: "v1"}}, func(*http.Request) (hemera.Identity, error) { return alice, refusal }))
	defer server.Close()
	for _, test := range []struct {
		what, url string
		refusal   error
		through   bool
	}{
		{"a manager on this machine", server.URL, nil, false},
		{"one that does not know it", server.URL, errs.New(errs.Unauthenticated, "authorize", "", "you are elsewhere"), true},
		{"one that does not let the user in", server.URL, errs.New(errs.Denied, "authorize", "", "not you"), false},
		{"one on another machine", "http://192.0.2.1:1", nil, true},
	} {
		refusal = test.refusal
		c, err := DialFrom(test.url, &failingCaller{err: errs.New(errs.Timeout, "", "", "through the door")})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := c.Version(t.Context()); errors.Is(err, errs.Timeout) != test.through {
				t.Errorf("%s is asked through the door: %v; %v", test.what, !test.through, err)
			}
		}
		c.Close()
	}
}

// FuzzCall: whatever a user sends, an admin's verb is not run.
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

// watched notes that it was asked.
type watched struct {
	hemera.Observer
	ran *bool
}

func (w watched) Operations(context.Context) ([]hemera.OpStat, error) {
	*w.ran = true
	return nil, nil
}

// TestWhoAmIIsWhomTheDoorProved: a user of another machine learns who the session is, whatever the request says.
func TestWhoAmIIsWhomTheDoorProved(t *testing.T) {
	_, c, _ := callingAs(t, alice)
	who, err := c.WhoAmI(t.Context())
	if err != nil || who.Name != alice.Name || who.UID != alice.UID || who.GID != alice.GID || who.Host != alice.Host || who.Admin {
		t.Errorf("she is %+v, %v", who, err)
	}
}
