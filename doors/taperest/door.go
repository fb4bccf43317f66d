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
	"hemera/words/tapeapi"
)

const (
	// Root is the path of the API, and all other calls are below it.
	Root = "/api/v1/"
	// WellKnown is the path at which clients find the address of the API.
	WellKnown = "/.well-known/wlcg-tape-rest-api"

	// bodyMax bounds a body in bytes. A request with the most paths of usual length fits.
	bodyMax = 16 << 20
	// bodiesMax bounds the concurrent requests with a body, bodiesOfUser those of one user. bodyBytes bounds the memory
	// of bodies, and a quarter of it that of one user. A body is charged in steps of bodyStep as it arrives, so a slow
	// one is small.
	bodiesMax, bodiesOfUser = 256, 16
	bodyBytes, bodyStep     = 256 << 20, 64 << 10
	// strangerTime bounds the time of a request until its sender is identified, bodyTime the time until its body has
	// arrived after that.
	strangerTime, bodyTime = 10 * time.Second, time.Minute
	// retrySeconds is the time after which clients repeat a request that was refused for lack of resources.
	retrySeconds = "5"
)

// Authorizer identifies the sender of a request. It fails with Unauthenticated or Denied, and does not read the body.
type Authorizer func(*http.Request) (hemera.Identity, error)

// Options has the service behind the door and its settings. Staging and Authorize are required.
type Options struct {
	Staging   tapeapi.Staging
	Authorize Authorizer
	// Site is the name of the site in targetedMetadata; "" for hemera.
	Site string
	// Addr is the host:port for clients that send no Host header.
	Addr string
	Log  *slog.Logger // nil: no log
}

// door is the handler: routing, identities, bodies and errors. The calls are in calls.go.
type door struct {
	Options
	bodies *limits.Budget[hemera.Account] // requests with a body that are being served
	bytes  *limits.Budget[hemera.Account] // of their bodies
}

// call serves one method of one path for an identified sender. The answer is JSON, or no body for nil.
type call func(d *door, r *http.Request, who hemera.Identity) (answer any, err error)

// routes returns the calls by path and method. The id may be any text, because managers and clients of other doors choose
// it.
func routes() map[string]map[string]call {
	return map[string]map[string]call{
		Root + "stage":             {http.MethodPost: callStage},
		Root + "stage/{id}":        {http.MethodGet: callStatus, http.MethodDelete: callDelete},
		Root + "stage/{id}/cancel": {http.MethodPost: callCancel},
		Root + "release/{id}":      {http.MethodPost: callRelease},
		Root + "archiveinfo":       {http.MethodPost: callArchiveInfo},
	}
}

// NewHandler makes the door's handler, for [Root] and [WellKnown]. It answers 404 for other paths.
func NewHandler(o Options) http.Handler { return newDoor(o).handler() }

// newDoor makes the door.
func newDoor(o Options) *door {
	if o.Site == "" {
		o.Site = "hemera"
	}
	if o.Log == nil { // in tests
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &door{Options: o, bodies: limits.NewBudget[hemera.Account]("tape bodies", limits.Bounds{Total: bodiesMax, Share: bodiesOfUser}),
		bytes: limits.NewBudget[hemera.Account]("tape body bytes", limits.Bounds{Total: bodyBytes, Share: bodyBytes / 4})}
}

// handler returns the handler of all paths.
func (d *door) handler() http.Handler {
	// The mux does not change after this function, so requests need no lock.
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

// traced gives every request a trace id for the logs, and sets deadlines for senders that are not identified yet.
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

// guarded serves the methods of a path to identified senders.
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
			// Requests are refused and not queued: a client that repeats its request costs less than a connection that
			// waits.
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

// serve makes a call and answers. A call may take as long as its service, so the deadline of the answer begins when it is
// complete.
func (d *door) serve(w http.ResponseWriter, r *http.Request, who hemera.Identity, f call) {
	// Connections of tests have no deadlines.
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
	if made, ok := answer.(made); ok { // the one answer that creates something
		w.Header().Set("Location", made.location)
		answerJSON(w, http.StatusCreated, made)
		return
	}
	answerJSON(w, http.StatusOK, answer)
}

// admit returns the identity of a request's sender. Browsers send Origin, or Sec-Fetch-Site with plain requests; programs
// do not. "none" means that the user typed the address.
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

// wellKnown answers everybody with the address of the API, with the host name that the client used.
func (d *door) wellKnown(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		answerError(w, http.StatusMethodNotAllowed, "this call takes GET")
		return
	}
	// The process refuses other names than this server's before this.
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

// audit logs a change before it is made.
func (d *door) audit(ctx context.Context, who hemera.Identity, what, id string, paths int) {
	d.Log.InfoContext(ctx, "tape request", "call", what, "id", id, "paths", paths, "who", who.Name, "uid", who.UID, "trace", hemera.TraceID(ctx))
}
