package admin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admindoor "hemera/doors/admin"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestCallsOfADoorThatFails checks that a call returns the error of its door, before the answer and within it.
func TestCallsOfADoorThatFails(t *testing.T) {
	for name, before := range map[string]string{"before the answer": "", "within the answer": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"} {
		way := failingCaller{before, errs.New(errs.Unavailable, "xrootd.Query", "root://there", "the connection was lost").WithRemedy("try again")}
		c := clientOf(&server{base: "http://there", addr: "there", http: &http.Client{Transport: through{way}}})
		_, err := c.Names.Stat(t.Context(), hemera.Identity{}, "/exp")
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

// TestWalkThroughADoorEndsWithItsListener checks that the context of the call ends when the caller stops reading.
func TestWalkThroughADoorEndsWithItsListener(t *testing.T) {
	ended := make(chan struct{})
	c := clientOf(&server{base: "http://there", addr: "there", http: &http.Client{Transport: through{endless{ended}}}})
	enough := errors.New("enough")
	_, err := c.Names.Walk(t.Context(), adminapi.WalkRequest{Path: "/"}, func(adminapi.Found) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("the walk ended with %v", err)
	}
	<-ended
}

// endless answers one message of a listing, and then waits until its context ends.
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

// TestNearestGoesByTheMachine checks that requests to this machine use HTTP, and requests to others the door.
func TestNearestGoesByTheMachine(t *testing.T) {
	for host, here := range map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, "192.0.2.1": false, "no-such-host.invalid": true} {
		if onThisMachine(t.Context(), host) != here {
			t.Errorf("%s is on this machine: %v", host, !here)
		}
	}
	var refusal error
	server := httptest.NewServer(admindoor.NewHandler(admindoor.Services{Version: adminapi.VersionInfo{Version: "v1"}}, func(*http.Request) (hemera.Identity, error) {
		return hemera.Identity{Name: "alice", UID: 1001}, refusal
	}))
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
			if _, err := c.About.Version(t.Context()); errors.Is(err, errs.Timeout) != test.through {
				t.Errorf("%s is asked through the door: %v; %v", test.what, !test.through, err)
			}
		}
		c.Close()
	}
}
