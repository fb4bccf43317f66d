package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"hemera/platform/kv/checkpoint"
	"hemera/words/errs"
)

// served returns the address of a source, and how it is reached.
func served(t testing.TB, source checkpoint.Source) (client *http.Client, base string) {
	t.Helper()
	s := httptest.NewTLSServer(http.StripPrefix("/checkpoint", checkpoint.NewHandler(source)))
	t.Cleanup(s.Close)
	return s.Client(), s.URL + "/checkpoint"
}

// TestOverHTTP: a checkpoint travels over TLS.
func TestOverHTTP(t *testing.T) {
	client, base := served(t, source(t, usual()))
	m := disk(t)
	got, err := checkpoint.Fetch(t.Context(), checkpoint.NewRemote(client, base+"/"), m, "/d/db", checkpoint.Options{})
	if err != nil || got.Last != 42 {
		t.Fatalf("%+v, %v", got, err)
	}
	same(t, m, "/d/db", usual())
}

// TestRequests: a handler answers ranges of a block and refuses all else.
func TestRequests(t *testing.T) {
	client, base := served(t, source(t, usual()))
	for _, c := range []struct {
		method, page, span string
		want               int
	}{
		{"GET", "/manifest", "", 200},
		{"GET", "/files/wal/state", "bytes=2-5", 206},
		{"GET", "/files/000001.sst", "bytes=0-1048575", 206},
		{"GET", "/files/000001.sst", "bytes=0-1048576", 400},
		{"GET", "/files/000001.sst", "", 400},
		{"GET", "/files/000001.sst", "bytes=0-", 400},
		{"GET", "/files/000001.sst", "bytes=-5", 400},
		{"GET", "/files/000001.sst", "bytes=5-4", 400},
		{"GET", "/files/000001.sst", "bytes=0-1,3-4", 400},
		{"GET", "/files/000001.sst", "bytes=+0-1", 400},
		{"GET", "/files/000001.sst", "bytes=9223372036854775806-9223372036854775807", 400},
		{"GET", "/files/wal/state", "bytes=2-10", 422},
		{"GET", "/files/none", "bytes=0-1", 404},
		{"GET", "/files/wal", "bytes=0-1", 500},
		{"GET", "/files/../manifest", "bytes=0-1", 400},
		{"GET", "/files/%2e%2e/manifest", "bytes=0-1", 400},
		{"GET", "/files/", "bytes=0-1", 400},
		{"GET", "/", "", 404},
		{"PUT", "/manifest", "", 405},
		{"HEAD", "/files/wal/state", "bytes=2-5", 405},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, base+c.page, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Range", c.span)
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.want {
			t.Errorf("%s %s %s: %d %.100q, %v, want %d", c.method, c.page, c.span, answer.StatusCode, text, err, c.want)
		}
		if c.want == 206 && c.page == "/files/wal/state" && !bytes.Equal(text, usual()["wal/state"][2:6]) {
			t.Errorf("%x", text)
		}
	}
}

// TestErrorsOverHTTP: the other side sees the kinds that decide whether to ask again.
func TestErrorsOverHTTP(t *testing.T) {
	for _, kind := range []errs.Kind{errs.NotFound, errs.Invalid, errs.Unavailable, errs.Overloaded, errs.Corrupt} {
		client, base := served(t, &hooked{Source: checkpoint.Local{FS: disk(t), Dir: "/d/c"}, before: func(context.Context, string, []byte) error {
			return errs.New(kind, "test.Read", "x", "why")
		}})
		r := checkpoint.NewRemote(client, base)
		if err := r.Read(t.Context(), "x", 0, make([]byte, 1)); !errors.Is(err, kind) || !strings.Contains(err.Error(), "why") {
			t.Errorf("%v, want %v", err, kind)
		}
		if _, err := r.Manifest(t.Context()); !errors.Is(err, errs.NotFound) {
			t.Errorf("no checkpoint: %v", err)
		}
	}
	r := checkpoint.NewRemote(http.DefaultClient, "https://127.0.0.1:1")
	if err := r.Read(t.Context(), "x", 0, make([]byte, 1)); !errors.Is(err, errs.Unavailable) {
		t.Errorf("nothing listens: %v", err)
	}
	if err := r.Read(t.Context(), "../x", 0, make([]byte, 1)); !errors.Is(err, errs.Invalid) {
		t.Errorf("a bad name: %v", err)
	}
	if err := r.Read(t.Context(), "x", -1, make([]byte, 1)); !errors.Is(err, errs.Invalid) {
		t.Errorf("a bad offset: %v", err)
	}
	if err := r.Read(t.Context(), "x", 0, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// TestMadServer: whatever a server answers, a client reads a bounded part of it.
func TestMadServer(t *testing.T) {
	endless := func(w http.ResponseWriter) {
		for p := make([]byte, 1<<20); ; {
			if _, err := w.Write(p); err != nil {
				return
			}
		}
	}
	for title, c := range map[string]struct {
		manifest, read errs.Kind
		answer         http.HandlerFunc
	}{
		"endless": {errs.Corrupt, errs.Unavailable, func(w http.ResponseWriter, _ *http.Request) { endless(w) }},
		"endless error": {errs.Unavailable, errs.Unavailable, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			endless(w)
		}},
		"other range": {errs.Unavailable, errs.Corrupt, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 1-10/20")
			w.WriteHeader(http.StatusPartialContent)
		}},
		"short": {errs.Unavailable, errs.Unavailable, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-9/20")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "12345")
		}},
		"empty":    {errs.Corrupt, errs.Unavailable, func(http.ResponseWriter, *http.Request) {}},
		"redirect": {errs.Unavailable, errs.Unavailable, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }},
		"breaks":   {errs.Unavailable, errs.Unavailable, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	} {
		s := httptest.NewServer(c.answer)
		r := checkpoint.NewRemote(s.Client(), s.URL)
		if _, err := r.Manifest(t.Context()); !errors.Is(err, c.manifest) {
			t.Errorf("%s: manifest: %v", title, err)
		}
		if err := r.Read(t.Context(), "x", 0, make([]byte, 10)); !errors.Is(err, c.read) {
			t.Errorf("%s: read: %v", title, err)
		}
		s.Close()
	}
}

// TestManyRequests: a handler has a bounded number of blocks in memory.
func TestManyRequests(t *testing.T) {
	const most = 8
	inside, leave := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex // hooked counts without one
	h := &hooked{Source: source(t, usual())}
	client, base := served(t, readFunc{h, func(ctx context.Context, name string, off int64, p []byte) error {
		inside <- struct{}{}
		<-leave
		mu.Lock()
		defer mu.Unlock()
		return h.Read(ctx, name, off, p)
	}})
	r := checkpoint.NewRemote(client, base)
	done := make(chan error, most)
	for range most {
		go func() { done <- r.Read(t.Context(), "wal/state", 0, make([]byte, 1)) }()
		<-inside
	}
	if err := r.Read(t.Context(), "wal/state", 0, make([]byte, 1)); !errors.Is(err, errs.Overloaded) {
		t.Errorf("one more: %v", err)
	}
	close(leave)
	for range most {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	go func() { <-inside }()
	if err := r.Read(t.Context(), "wal/state", 0, make([]byte, 1)); err != nil {
		t.Errorf("after them: %v", err)
	}
}

// readFunc is a source with another Read.
type readFunc struct {
	checkpoint.Source
	read func(context.Context, string, int64, []byte) error
}

// Read implements checkpoint.Source.
func (r readFunc) Read(ctx context.Context, name string, off int64, p []byte) error {
	return r.read(ctx, name, off, p)
}

// TestServerGoesAway: a server that breaks connections in the middle is asked again, and the next Fetch goes on where the one before was.
func TestServerGoesAway(t *testing.T) {
	src := source(t, usual())
	h := &hooked{Source: src}
	s := httptest.NewServer(checkpoint.NewHandler(h))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h.before = func(context.Context, string, []byte) error {
		if h.reads > 3 {
			cancel()
		}
		if h.reads > 2 {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	m := disk(t)
	if _, err := checkpoint.Fetch(ctx, checkpoint.NewRemote(s.Client(), s.URL), m, "/d/db", checkpoint.Options{}); err == nil || exists(m, "/d/db") {
		t.Fatal(err)
	}
	again := &hooked{Source: src}
	client, base := served(t, again)
	if _, err := checkpoint.Fetch(t.Context(), checkpoint.NewRemote(client, base), m, "/d/db", checkpoint.Options{}); err != nil {
		t.Fatal(err)
	}
	same(t, m, "/d/db", usual())
	if again.reads != 3 {
		t.Errorf("asked for %v", again.asked)
	}
}

// FuzzRequest: no request makes a handler panic, or read what is not a file of the checkpoint.
func FuzzRequest(f *testing.F) {
	src := source(f, content{"wal/state": numbers(1, 10)})
	handler := checkpoint.NewHandler(src)
	f.Add("/files/wal/state", "bytes=0-9")
	f.Add("/files/../manifest", "bytes=0-9")
	f.Add("/manifest", "")
	f.Fuzz(func(t *testing.T, page, span string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = page
		r.Header["Range"] = []string{span}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code == http.StatusPartialContent && (page != "/files/wal/state" || !bytes.Contains(numbers(1, 10), w.Body.Bytes())) {
			t.Errorf("%q %q: %x", page, span, w.Body.Bytes())
		}
	})
}

// FuzzAnswer: no answer makes a client panic or return bytes that are not there.
func FuzzAnswer(f *testing.F) {
	f.Add(206, "bytes 0-3/*", []byte("abcd"))
	f.Add(404, "", []byte("none"))
	f.Fuzz(func(t *testing.T, status int, span string, body []byte) {
		client := &http.Client{Transport: answer(func() *http.Response {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Range": {span}}, Body: io.NopCloser(bytes.NewReader(body))}
		})}
		r := checkpoint.NewRemote(client, "http://x")
		p := make([]byte, 4)
		if err := r.Read(t.Context(), "x", 0, p); err == nil && !bytes.HasPrefix(body, p) {
			t.Errorf("%x of %x", p, body)
		}
		if m, err := r.Manifest(t.Context()); err == nil && m == nil {
			t.Error("neither a manifest nor an error")
		}
	})
}

// answer is a transport with one answer.
type answer func() *http.Response

// RoundTrip implements http.RoundTripper.
func (a answer) RoundTrip(*http.Request) (*http.Response, error) { return a(), nil }
