package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"hemera/words/errs"
)

// Paths of the handler, below the prefix at which the caller mounts it.
const (
	manifestPath = "/manifest"
	filesPath    = "/files/"
)

// requestsMax is the number of requests that a handler answers at a time; each has a block in memory.
const requestsMax = 8

// errorMax is the number of bytes of an error's text that a client reads.
const errorMax = 1 << 10

// Handler serves a source: GET /manifest, and GET /files/NAME with one range of at most [BlockSize] bytes. It must be mounted with
// [http.StripPrefix] where only managers reach it: a store has secrets. A client that reads slowly is cut off after the time of a block.
type Handler struct {
	source   Source
	underway atomic.Int32
}

// NewHandler returns the handler of a source.
func NewHandler(source Source) *Handler { return &Handler{source: source} }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer h.underway.Add(-1)
	if h.underway.Add(1) > requestsMax {
		refuse(w, errs.New(errs.Overloaded, "checkpoint.Serve", "", "too many requests for the checkpoint"))
		return
	}
	name, isFile := strings.CutPrefix(r.URL.Path, filesPath)
	switch {
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case isFile:
		h.serveBlock(w, r, name)
	case r.URL.Path == manifestPath:
		h.serveManifest(w, r)
	default:
		refuse(w, errs.New(errs.NotFound, "checkpoint.Serve", "", "there is no such page"))
	}
}

// serveManifest answers with the manifest's stored bytes.
func (h *Handler) serveManifest(w http.ResponseWriter, r *http.Request) {
	m, err := h.source.Manifest(r.Context())
	var b []byte
	if err == nil {
		b, err = m.Encode()
	}
	if err != nil {
		refuse(w, err)
		return
	}
	send(w, http.StatusOK, b, manifestTime)
}

// serveBlock answers with a part of a file.
func (h *Handler) serveBlock(w http.ResponseWriter, r *http.Request, name string) {
	off, n, err := parseRange(r.Header.Get("Range"))
	if err == nil {
		err = checkName(name)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	p := make([]byte, n)
	if err := h.source.Read(r.Context(), name, off, p); err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Range", contentRange(off, n)+"*")
	send(w, http.StatusPartialContent, p, blockTime)
}

// send writes an answer, within a time.
func send(w http.ResponseWriter, status int, b []byte, within time.Duration) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	c := http.NewResponseController(w)
	_ = c.SetWriteDeadline(time.Now().Add(within)) // a recorder of tests has none
	w.WriteHeader(status)
	if _, err := w.Write(b); err != nil {
		return // the connection is closed
	}
	// The connection may serve others next, who have their own deadlines.
	if c.Flush() == nil {
		_ = c.SetWriteDeadline(time.Time{})
	}
}

// statuses are those of kinds that a client can tell apart. All others are 500.
var statuses = map[errs.Kind]int{
	errs.NotFound: http.StatusNotFound, errs.Invalid: http.StatusBadRequest, errs.Unavailable: http.StatusServiceUnavailable,
	errs.Overloaded: http.StatusTooManyRequests, errs.Corrupt: http.StatusUnprocessableEntity,
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, err error) {
	status := statuses[errs.KindOf(err)]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	http.Error(w, err.Error(), status)
}

// parseRange returns the offset and the length of a range with both ends, of at most a block.
func parseRange(header string) (off, n int64, err error) {
	text, isBytes := strings.CutPrefix(header, "bytes=")
	from, to, both := strings.Cut(text, "-")
	first, err1 := strconv.ParseUint(from, 10, 62)
	last, err2 := strconv.ParseUint(to, 10, 62)
	if !isBytes || !both || err1 != nil || err2 != nil || last < first || last-first >= BlockSize {
		return 0, 0, errs.New(errs.Invalid, "checkpoint.Serve", "", fmt.Sprintf("%.100q is not a range of at most %d bytes", header, BlockSize))
	}
	return int64(first), int64(last - first + 1), nil
}

// contentRange returns the beginning of the header of an answer with a range, up to the size of the file.
func contentRange(off, n int64) string { return fmt.Sprintf("bytes %d-%d/", off, off+n-1) }

// Remote is the [Source] behind a [Handler].
type Remote struct {
	client http.Client
	base   string
}

var _ Source = (*Remote)(nil)

// NewRemote returns the source at an address, to which /manifest and /files/NAME are added. The client proves who it is, and who the other side is. It
// follows no redirects here.
func NewRemote(client *http.Client, base string) *Remote {
	r := &Remote{client: *client, base: strings.TrimSuffix(base, "/")}
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return r
}

// Manifest implements Source.
func (r *Remote) Manifest(ctx context.Context) (*Manifest, error) {
	const op = "checkpoint.AskManifest"
	answer, err := r.get(ctx, manifestPath, "", http.StatusOK)
	if err != nil {
		return nil, errs.Wrap(err, op, r.base)
	}
	defer func() { _ = answer.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(answer.Body, manifestMax+1))
	if err != nil {
		return nil, lost(err, op, r.base)
	}
	m, err := Decode(b) // which refuses one that is too long
	return m, errs.Wrap(err, op, r.base)
}

// Read implements Source.
func (r *Remote) Read(ctx context.Context, name string, off int64, p []byte) error {
	const op = "checkpoint.Read"
	if err := checkName(name); err != nil {
		return err
	}
	if off < 0 || len(p) > BlockSize {
		return errs.New(errs.Invalid, op, name, fmt.Sprintf("%d bytes at %d cannot be read", len(p), off))
	}
	if len(p) == 0 {
		return nil
	}
	n := int64(len(p))
	answer, err := r.get(ctx, filesPath+name, fmt.Sprintf("bytes=%d-%d", off, off+n-1), http.StatusPartialContent)
	if err != nil {
		return errs.Wrap(err, op, name)
	}
	defer func() { _ = answer.Body.Close() }()
	if got := answer.Header.Get("Content-Range"); !strings.HasPrefix(got, contentRange(off, n)) {
		return errs.New(errs.Corrupt, op, name, fmt.Sprintf("the source sent another range: %.100q", got))
	}
	if _, err := io.ReadFull(answer.Body, p); err != nil {
		return lost(err, op, name)
	}
	return nil
}

// get sends a request and returns the answer, if it has the wanted status. The caller closes its body.
func (r *Remote) get(ctx context.Context, page, span string, status int) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+page, nil)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "checkpoint.Ask", r.base)
	}
	if span != "" {
		request.Header.Set("Range", span)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return nil, lost(err, "checkpoint.Ask", r.base)
	}
	if answer.StatusCode == status {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, errorMax)) // what could be read
	return nil, errs.New(kindOf(answer.StatusCode), "checkpoint.Ask", r.base, fmt.Sprintf("status %d: %q", answer.StatusCode, text))
}

// kindOf returns the kind that a status stands for.
func kindOf(status int) errs.Kind {
	for kind, s := range statuses {
		if s == status {
			return kind
		}
	}
	return errs.Unavailable
}

// lost returns the error of a connection that failed: Unavailable, unless the caller ended it.
func lost(err error, op, subject string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errs.Wrap(err, op, subject)
	}
	return errs.As(err, errs.Unavailable, op, subject)
}
