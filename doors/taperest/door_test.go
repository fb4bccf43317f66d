package taperest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hemera/rules/limits"
	"hemera/test/fixture"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// alice is the owner of requests on this machine; the header From selects another user.
var alice = hemera.Identity{Name: "alice", UID: 1001, GID: 100}

// rig is a door in front of a tree with tape. /exp/data.root and /exp/notes.txt are on tape only, /exp/run1/a.dat also on
// disk, /exp/run1/b.dat on disk only.
type rig struct {
	http.Handler
	tape *fixture.Staging
}

func newRig() *rig {
	r := &rig{tape: fixture.NewStaging(fixture.NewTree(), func() time.Time { return time.Unix(1_700_000_000, 0) })}
	r.tape.Evicted("/exp/data.root")
	r.tape.Evicted("/exp/notes.txt")
	r.tape.OnTape("/exp/run1/a.dat")
	r.Handler = NewHandler(Options{Staging: r.tape, Addr: "store.example.org:1094", Authorize: func(r *http.Request) (hemera.Identity, error) {
		switch r.Header.Get("From") {
		case "":
			return alice, nil
		case "bob":
			return hemera.Identity{Name: "bob", UID: 1002, GID: 100}, nil
		}
		return hemera.Identity{}, errs.New(errs.Unauthenticated, "test.Authorize", r.RemoteAddr, "who are you").WithRemedy("log in")
	}})
	return r
}

// ask sends a request "METHOD path", with lines of headers after it.
func (r *rig) ask(call, body string) *httptest.ResponseRecorder {
	lines := strings.Split(call, "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Host = "manager:1094"
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

// want sends a request and compares status and body.
func (r *rig) want(t *testing.T, call, body string, status int, answer string) http.Header {
	t.Helper()
	w := r.ask(call, body)
	if got := strings.TrimSpace(w.Body.String()); w.Code != status || got != answer {
		t.Errorf("%s\n%s\n%d %s\nwant\n%d %s", call, body, w.Code, got, status, answer)
	}
	return w.Header()
}

// TestRequest runs through the life of a request, with every call.
func TestRequest(t *testing.T) {
	r := newRig()
	r.want(t, "GET "+WellKnown, "", 200,
		`{"sitename":"hemera","description":"tape of a Hemera cluster","endpoints":[{"uri":"http://manager:1094/api/v1","version":"v1"}]}`)
	r.want(t, "POST /api/v1/archiveinfo", `{"paths":["/exp/data.root","/exp/run1/a.dat","/exp/run1/b.dat","/exp/none"]}`, 200,
		`[{"path":"/exp/data.root","locality":"TAPE"},{"path":"/exp/run1/a.dat","locality":"DISK_AND_TAPE"},{"path":"/exp/run1/b.dat","locality":"DISK"},{"path":"/exp/none","error":"not found"}]`)

	h := r.want(t, "POST /api/v1/stage/", `{"files":[{"path":"/exp/data.root","diskLifetime":"PT1H","targetedMetadata":{"hemera":{"activity":"reco"}}},{"path":"/exp//notes.txt"},{"path":"/exp/run1/b.dat"},{"path":"/exp/none"}]}`,
		201, `{"requestId":"request-1"}`)
	if got := h.Get("Location"); got != "/api/v1/stage/request-1" {
		t.Errorf("location %q", got)
	}
	const one = "/api/v1/stage/request-1"
	r.want(t, "GET "+one, "", 200, `{"id":"request-1","createdAt":1700000000,"startedAt":1700000000,"files":[`+
		`{"path":"/exp/data.root","onDisk":false},{"path":"/exp/notes.txt","onDisk":false},{"path":"/exp/run1/b.dat","onDisk":true},{"path":"/exp/none","error":"not found"}]}`)

	// Other users may not see it, and files that are not in it cannot be withdrawn.
	r.want(t, "GET "+one+"\nFrom: bob", "", 403,
		`{"title":"Forbidden","status":403,"detail":"stage status request-1: the request is another user's; permission denied","type":"about:blank"}`)
	if w := r.ask("POST "+one+"/cancel", `{"paths":["/exp/notes.txt","/exp/run1/a.dat"]}`); w.Code != 400 {
		t.Errorf("cancel of a strange path: %d %s", w.Code, w.Body)
	}
	r.want(t, "POST "+one+"/cancel", `{"files":[{"path":"/exp/notes.txt"}]}`, 200, "")
	if n := r.tape.Recall("/exp/data.root"); n != 1 {
		t.Errorf("%d requests waited", n)
	}
	r.want(t, "GET "+one+"/", "", 200, `{"id":"request-1","createdAt":1700000000,"startedAt":1700000000,"files":[`+
		`{"path":"/exp/data.root","onDisk":true},{"path":"/exp/notes.txt","error":"the request for this file was cancelled"},{"path":"/exp/run1/b.dat","onDisk":true},{"path":"/exp/none","error":"not found"}]}`)
	r.want(t, "POST /api/v1/release/request-1", `{"paths":["/exp/data.root"]}`, 200, "")
	r.want(t, "POST /api/v1/release/any", `{"paths":["/exp/run1/b.dat"]}`, 200, "") // not on tape: it stays
	r.want(t, "POST /api/v1/archiveinfo/", `{"files":[{"path":"/exp/data.root"}]}`, 200, `[{"path":"/exp/data.root","locality":"TAPE"}]`)

	r.want(t, "DELETE "+one, "", 200, "")
	if w := r.ask("GET "+one, ""); w.Code != 404 || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("after the removal: %d %s", w.Code, w.Body)
	}
}

// TestFailedRecall checks that a client gets the reason, and that the rest of the request continues.
func TestFailedRecall(t *testing.T) {
	r := newRig()
	r.want(t, "POST /api/v1/stage", `{"paths":["/exp/data.root","/exp/notes.txt"]}`, 201, `{"requestId":"request-1"}`)
	r.tape.Fail("/exp/data.root", "the tape is broken")
	r.want(t, "GET /api/v1/stage/request-1", "", 200,
		`{"id":"request-1","createdAt":1700000000,"startedAt":1700000000,"files":[{"path":"/exp/data.root","error":"the tape is broken"},{"path":"/exp/notes.txt","onDisk":false}]}`)
	// archiveinfo reports the archive and not the recall.
	r.want(t, "POST /api/v1/archiveinfo", `{"paths":["/exp/data.root"]}`, 200, `[{"path":"/exp/data.root","locality":"TAPE"}]`)
}

func TestRefused(t *testing.T) {
	r := newRig()
	for _, c := range []struct {
		call, body string
		status     int
		detail     string // a part of it
	}{
		{"POST /api/v1/stage\nFrom: nobody", `{"paths":["/a"]}`, 401, "who are you; log in"},
		{"GET /api/v1/stage/x\nFrom: nobody", "", 401, "who are you"},
		{"POST /api/v1/stage\nOrigin: http://evil.example.com", `{"paths":["/a"]}`, 403, "web pages"},
		{"POST /api/v1/archiveinfo\nSec-Fetch-Site: same-origin", `{"paths":["/a"]}`, 403, "web pages"},
		{"GET /api/v1/stage", "", 405, "this call takes POST"},
		{"PUT /api/v1/stage/x", "", 405, "this call takes DELETE, GET"},
		{"POST " + WellKnown, "", 405, "GET"},
		{"GET /api/v2/stage/x", "", 404, "no such call"},
		{"GET /api/v1/", "", 404, "no such call"},
		{"GET /api/v1/stage/none", "", 404, "no such request"},
		{"DELETE /api/v1/stage/none", "", 404, "no such request"},
		{"POST /api/v1/stage/none/cancel", `{"paths":["/a"]}`, 404, "no such request"},
		{"POST /api/v1/stage", "", 400, "body"},
		{"POST /api/v1/stage", "[]", 400, "body"},
		{"POST /api/v1/stage", `{"paths":["/a"]} {}`, 400, "body"},
		{"POST /api/v1/stage", `{"paths":"/a"}`, 400, "body"},
		{"POST /api/v1/stage", `{"paths":[]}`, 400, "names no file"},
		{"POST /api/v1/stage", `{"files":[{"file":"/a"}]}`, 400, "path"},
		{"POST /api/v1/stage", `{"paths":["a"]}`, 400, "path"},
		{"POST /api/v1/stage", `{"paths":["/../a"]}`, 400, "/../a"},
		{"POST /api/v1/stage", `{"files":[{"path":"/a","targetedMetadata":{"hemera":7}}]}`, 400, "targetedMetadata"},
		{"POST /api/v1/stage", `{"paths":["/a"` + strings.Repeat(`,"/a"`, tapeapi.StagePathsMax) + `]}`, 400, "more than 100000 files"},
		{"POST /api/v1/stage", `{"paths":["/` + strings.Repeat("a", bodyMax) + `"]}`, 413, "too large"},
		{"POST /api/v1/release/x", `{"paths":["/exp/none"]}`, 404, "no such file"},
		{"POST /api/v1/release/x", `{"paths":["/exp/run1/a.dat","/exp/none","/exp/none2"]}`, 404, "2 of 3 files"},
	} {
		w := r.ask(c.call, c.body)
		if got := w.Body.String(); w.Code != c.status || !strings.Contains(got, c.detail) || !strings.HasPrefix(got, fmt.Sprintf(`{"title":%q,"status":%d,"detail":`, http.StatusText(c.status), c.status)) {
			t.Errorf("%s %.80s\n%d %s\nwant %d with %q", c.call, c.body, w.Code, got, c.status, c.detail)
		}
	}
	// Strangers get .well-known, with the address of the server if they send no Host.
	w := r.ask("GET "+WellKnown+"\nFrom: nobody", "")
	if w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if got := r.ask("GET /api/v1/stage", "").Header().Get("Allow"); got != "POST" {
		t.Errorf("allow %q", got)
	}
}

// TestMetadata checks that the site's own metadata precede those for all sites, and that those of other sites are
// ignored.
func TestMetadata(t *testing.T) {
	for text, want := range map[string]string{
		`{"hemera":{"activity":"reco"},"default":{"activity":"other"}}`: "reco",
		`{"default":{"activity":"other"},"elsewhere":7}`:                "other",
		`{"elsewhere":{"activity":7}}`:                                  "",
		`{"hemera":{"x":1}}`:                                            "",
	} {
		got, err := parse([]byte(`{"files":[{"path":"/a","targetedMetadata":`+text+`}]}`), "hemera")
		if err != nil || len(got) != 1 || got[0] != (tapeapi.StageFile{Path: "/a", Activity: want}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// blocked is a service whose status calls wait until the test releases them.
type blocked struct {
	tapeapi.Staging
	entered, release chan struct{}
}

func (b blocked) Localities(context.Context, hemera.Identity, string, []string) ([]tapeapi.Locality, error) {
	b.entered <- struct{}{}
	<-b.release
	return nil, nil
}

// TestBodiesAreBounded checks that a user with its full share of requests or memory is refused, and that others are
// served meanwhile.
func TestBodiesAreBounded(t *testing.T) {
	service := blocked{entered: make(chan struct{}), release: make(chan struct{})}
	d := newDoor(Options{Staging: service, Authorize: func(r *http.Request) (hemera.Identity, error) {
		if r.Header.Get("From") != "" {
			return hemera.Identity{Name: "bob", UID: 1002, GID: 100}, nil
		}
		return alice, nil
	}})
	r := &rig{Handler: d.handler()}
	done := make(chan int, bodiesOfUser+1)
	ask := func(call string) { done <- r.ask(call, `{"paths":["/a"]}`).Code }
	for range bodiesOfUser {
		go ask("POST /api/v1/archiveinfo")
	}
	for range bodiesOfUser {
		<-service.entered
	}
	if w := r.ask("POST /api/v1/archiveinfo", `{"paths":["/a"]}`); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "of this user") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	go ask("POST /api/v1/archiveinfo\nFrom: bob")
	<-service.entered
	if u := d.bytes.Usage(); u.Clients != 2 {
		t.Errorf("the bytes of two users count as %+v", u)
	}
	close(service.release)
	for range bodiesOfUser + 1 {
		if code := <-done; code != 200 {
			t.Errorf("%d", code)
		}
	}
}

// TestBytesOfBodiesAreCounted checks that a body is charged as it arrives, up to the share of its user, and that the
// charge is returned.
func TestBytesOfBodiesAreCounted(t *testing.T) {
	budget := limits.NewBudget[hemera.Account]("bytes", limits.Bounds{Total: 4 * bodyStep, Share: 2 * bodyStep})
	body := func(size int) (*countedBody, error) {
		b := &countedBody{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("a", size))), account: budget.Open(hemera.Account{UID: 1})}
		_, err := io.Copy(io.Discard, b)
		return b, err
	}
	slow := &countedBody{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("a", bodyMax))), account: budget.Open(hemera.Account{UID: 1})}
	if n, err := slow.Read(make([]byte, 1)); n != 1 || err != nil || budget.Usage().Used != bodyStep {
		t.Fatalf("%d, %v, %+v", n, err, budget.Usage())
	}
	large, err := body(3 * bodyStep)
	if errs.KindOf(err) != errs.Overloaded {
		t.Errorf("beyond the share: %v", err)
	}
	large.release()
	small, err := body(10)
	if err != nil {
		t.Error(err)
	}
	small.release()
	slow.release()
	if u := budget.Usage(); u.Used != 0 || u.Clients != 0 {
		t.Errorf("%+v", u)
	}
}

func TestStatusOf(t *testing.T) {
	for kind, want := range map[errs.Kind]int{
		errs.Invalid: 400, errs.Denied: 403, errs.Unauthenticated: 401, errs.NotFound: 404, errs.Conflict: 409, errs.TooLarge: 413,
		errs.Unsupported: 501, errs.Unavailable: 503, errs.Overloaded: 503, errs.Internal: 500, errs.IO: 500,
	} {
		if got := statusOf(errs.New(kind, "test.Fail", "", "")); got != want {
			t.Errorf("%s: %d, want %d", kind, got, want)
		}
	}
}

// FuzzParse checks that all parsed files can be staged, whatever a client sends.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"paths":["/a"]}`, `{"files":[{"path":"/a","targetedMetadata":{"s":{"activity":"x"}}}]}`, `{"paths":null}`, "", "[", `{"files":[{}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := parse(data, "s")
		if err == nil && len(files) == 0 || err != nil && errs.KindOf(err) != errs.Invalid {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			if !strings.HasPrefix(file.Path, "/") || strings.Contains(file.Path+"/", "/../") {
				t.Fatalf("%q", file.Path)
			}
		}
	})
}
