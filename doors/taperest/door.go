package taperest

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"hemera/rules/limits"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// Root is the path of the API; all calls but the next one are below it.
	Root = "/api/v1/"
	// WellKnown is where clients find out where the API is.
	WellKnown = "/.well-known/wlcg-tape-rest-api"

	// bodyMax bounds a body in bytes: as many paths as a request may have, of usual length.
	bodyMax = 16 << 20
	// bodiesMax is how many requests with a body are served at a time, bodiesOfUser how many of one user. Bytes of bodies
	// in memory are bounded by bodyBytes, those of one user by a quarter; a body counts as it arrives, so a slow one is small.
	bodiesMax, bodiesOfUser = 256, 16
	bodyBytes, bodyStep     = 256 << 20, 64 << 10
	// strangerTime is how long a request may take until its sender is known, and bodyTime how long its body may take then.
	strangerTime, bodyTime = 10 * time.Second, time.Minute
	// retrySeconds is when clients are to come back that were not served for want of something.
	retrySeconds = "5"
)

// Authorizer finds out who sent a request. It fails with Unauthenticated or Denied, and does not read the body.
type Authorizer func(*http.Request) (hemera.Identity, error)

// Options are what the door asks and says. Staging and Authorize are set.
type Options struct {
	Staging   hemera.Staging
	Authorize Authorizer
	// Site is what the site is called in targetedMetadata, "" for hemera.
	Site string
	// Addr is host:port that clients are told who send no Host header.
	Addr string
	Log  *slog.Logger // nil: no log
}

// door is the handler: routing, identities, bodies and errors. What the calls do is in calls.go.
type door struct {
	Options
	bodies *limits.Budget[hemera.Account] // requests with a body that are being served
	bytes  *limits.Budget[hemera.Account] // of their bodies
}

// call serves one method of one path for a known sender. The answer is JSON, or no body if it is nil.
type call func(d *door, r *http.Request, who hemera.Identity) (answer any, err error)

// routes are the calls by path and method. The id is any text: managers choose it, and so do clients of other doors.
func routes() map[string]map[string]call {
	return map[string]map[string]call{
		Root + "stage":             {http.MethodPost: callStage},
		Root + "stage/{id}":        {http.MethodGet: callStatus, http.MethodDelete: callDelete},
		Root + "stage/{id}/cancel": {http.MethodPost: callCancel},
		Root + "release/{id}":      {http.MethodPost: callRelease},
		Root + "archiveinfo":       {http.MethodPost: callArchiveInfo},
	}
}

// NewHandler makes the door's handler, for [Root] and [WellKnown]. Other paths are answered 404.
func NewHandler(o Options) http.Handler { return newDoor(o).handler() }

// newDoor makes the door with nothing to serve yet.
func newDoor(o Options) *door {
	if o.Site == "" {
		o.Site = "hemera"
	}
	if o.Log == nil { // as tests have it
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &door{Options: o, bodies: limits.NewBudget[hemera.Account]("tape bodies", limits.Bounds{Total: bodiesMax, Share: bodiesOfUser}),
		bytes: limits.NewBudget[hemera.Account]("tape body bytes", limits.Bounds{Total: bodyBytes, Share: bodyBytes / 4})}
}

// handler serves all paths of the door.
func (d *door) handler() http.Handler {
	// The mux is not changed after this function, so requests need no lock.
	mux := http.NewServeMux()
	mux.HandleFunc(WellKnown, d.wellKnown)
	for pattern, methods := range routes() {
		mux.Handle(pattern, d.guarded(methods))
		mux.Handle(pattern+"/{$}", d.guarded(methods)) // some clients send a slash at the end
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		d.fail(w, r, errs.New(errs.NotFound, "taperest.Answer", r.URL.Path, "there is no such call"))
	})
	return traced(mux)
}

// traced gives every request a trace id for the logs, and bounds what a sender can hold before it is known.
func traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := hemera.NewTraceID()
		w.Header().Set("Hemera-Trace", id)
		deadlines := http.NewResponseController(w)
		_ = deadlines.SetReadDeadline(time.Now().Add(strangerTime))
		_ = deadlines.SetWriteDeadline(time.Now().Add(strangerTime))
		next.ServeHTTP(w, r.WithContext(hemera.WithTrace(r.Context(), id)))
	})
}

// guarded serves the methods of a path to senders that are known.
func (d *door) guarded(methods map[string]call) http.Handler {
	allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := methods[r.Method]
		if f == nil {
			w.Header().Set("Allow", allowed)
			answerError(w, http.StatusMethodNotAllowed, "this call takes "+allowed)
			return
		}
		who, err := d.admit(r)
		if err != nil {
			d.Log.Warn("tape request refused", "path", r.URL.Path, "peer", r.RemoteAddr, "who", who.Name, "trace", hemera.TraceID(r.Context()), "error", err)
			d.fail(w, r, err)
			return
		}
		if r.Method == http.MethodPost { // the others have no body
			// Nobody waits here: a client that comes again is better than a connection that is kept.
			account := d.bodies.Open(who.Account())
			defer account.Close()
			if v := account.Take(1); v != limits.Fits {
				d.fail(w, r, busy(r.URL.Path, v))
				return
			}
			defer account.Give(1)
		}
		d.serve(w, r, who, f)
	})
}

// serve makes a call and answers. A call may take as long as its service, so the deadline of the answer is set when it is there.
func (d *door) serve(w http.ResponseWriter, r *http.Request, who hemera.Identity, f call) {
	// A connection that cannot have deadlines is one of a test.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Now().Add(bodyTime))
	_ = deadlines.SetWriteDeadline(time.Time{})
	counted := &countedBody{ReadCloser: http.MaxBytesReader(w, r.Body, bodyMax), account: d.bytes.Open(who.Account()), path: r.URL.Path}
	defer counted.release()
	r.Body = counted
	answer, err := f(d, r, who)
	_ = deadlines.SetWriteDeadline(time.Now().Add(bodyTime))
	if err != nil {
		d.fail(w, r, err)
		return
	}
	if made, ok := answer.(made); ok { // the one answer that is about something new
		w.Header().Set("Location", made.location)
		answerJSON(w, http.StatusCreated, made)
		return
	}
	answerJSON(w, http.StatusOK, answer)
}

// admit returns the identity of a request's sender. A browser sends Origin, or Sec-Fetch-Site with plain requests; programs do
// not. "none" is an address that the user typed.
func (d *door) admit(r *http.Request) (hemera.Identity, error) {
	// The admin door refuses the same requests, for the same reason.
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Header.Get("Origin") != "" || site != "" && site != "none" {
		return hemera.Identity{}, errs.New(errs.Denied, "taperest.Authorize", r.RemoteAddr, "requests from web pages are not taken").
			WithRemedy("use a program that sends no Origin header")
	}
	return d.Authorize(r)
}

// endpoint is one version of the API.
type endpoint struct {
	URI     string `json:"uri"`
	Version string `json:"version"`
}

// wellKnown tells anybody where the API is: at the name by which the client called.
func (d *door) wellKnown(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		answerError(w, http.StatusMethodNotAllowed, "this call takes GET")
		return
	}
	// The process has refused names that are not this server's before.
	host := r.Host
	if host == "" {
		host = d.Addr
	}
	answerJSON(w, http.StatusOK, struct {
		Site        string     `json:"sitename"`
		Description string     `json:"description"`
		Endpoints   []endpoint `json:"endpoints"`
	}{d.Site, "tape of a Hemera cluster", []endpoint{{"http://" + host + strings.TrimSuffix(Root, "/"), "v1"}}})
}

// audit logs a change that somebody asked for, before it is made.
func (d *door) audit(ctx context.Context, who hemera.Identity, what, id string, paths int) {
	d.Log.InfoContext(ctx, "tape request", "call", what, "id", id, "paths", paths, "who", who.Name, "uid", who.UID, "trace", hemera.TraceID(ctx))
}
