package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"hemera/platform/contain"
	"hemera/platform/rpc"
	"hemera/platform/turns"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// strangerTime is how long a request may take to arrive until its sender is known.
	strangerTime = 10 * time.Second
	// strangerAnswer is how long the whole request may take, the answer included, until its sender is known.
	strangerAnswer = 30 * time.Second
)

// Services is what the door asks. Verbs of a part that is nil answer Unsupported.
type Services struct {
	Cluster   adminapi.ClusterAdmin // disks, nodes, spaces
	Tokens    adminapi.TokenAdmin   // join tokens
	Trust     adminapi.TrustAdmin   // admission of nodes, keys
	Maint     adminapi.MaintAdmin   // jobs, checks, fsck
	Observe   adminapi.Observer     // measurements
	Quota     hemera.QuotaAdmin
	Recycle   hemera.RecycleBin
	Tape      adminapi.TapeAdmin
	Sessions  adminapi.TapeSessions // of tape drives
	TapeKeys  hemera.TapeKeys
	Staging   hemera.Staging
	Writes    adminapi.WriteAdmin // locks of writes
	Convert   hemera.ConvertAdmin
	Status    hemera.StatusAdmin // health, explanations
	Benchmark adminapi.Benchmarker
	Names     hemera.Names // the tree
	// Directories is what trees are walked with.
	Directories hemera.Directories
	Attributes  hemera.Attributes
	Backups     adminapi.Backups
	Rebuild     adminapi.Rebuilder
	// Config lists the settings in force; it must have left out secrets.
	Config func() []adminapi.Setting
	// Configure changes settings and reads those of files again. It returns when what can change while the server runs is in
	// force. A setting that is wrong is Invalid and changes nothing.
	Configure func(context.Context, adminapi.ConfigChange) (adminapi.ConfigResult, error)
	// Limits are the bounds of the process; nil shows none.
	Limits func() []Limit
	// Version describes the running program.
	Version adminapi.VersionInfo
	Log     *slog.Logger
	// Panics counts requests that failed by a panic. May be nil.
	Panics *contain.Panics
	// Turns are those of users beside others, which every request of a user takes; nil: of this door alone.
	Turns *turns.Limiter
}

// Authorizer finds out who sent a request. It fails with Unauthenticated or Denied and a remedy.
// Verbs on files are done as that identity; all others need its Admin.
// It must not read the body. It may ask the kernel, and returns within moments.
type Authorizer func(*http.Request) (hemera.Identity, error)

// door is the handler of the admin API: routing, identification, errors and logs. The verbs of each subject are in a
// file with that subject's name, as functions that register themselves.
type door struct {
	Services
	mux       *http.ServeMux       // all paths
	authorize Authorizer           // of HTTP requests
	verbs     []string             // for the page at /
	failures  *connect.ErrorWriter // for requests that reach no verb
	questions *turns.Limiter       // of what users ask of nodes; apart, as a node may take seconds
}

// traced gives every request a trace id before anything can fail.
// The deadlines that it sets bound what a sender can hold before guard knows it. guard removes them.
func (d *door) traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A client's id joins the logs of both sides.
		id := r.Header.Get(adminapi.TraceHeader)
		if !validTrace(id) {
			id = hemera.NewTraceID()
		}
		w.Header().Set(adminapi.TraceHeader, id)
		// A client that is not identified yet must not keep a connection by never finishing its request.
		deadlines, now := http.NewResponseController(w), time.Now()
		_ = deadlines.SetReadDeadline(now.Add(strangerTime))
		_ = deadlines.SetWriteDeadline(now.Add(strangerAnswer))
		next.ServeHTTP(w, r.WithContext(hemera.WithTrace(r.Context(), id)))
	})
}

// validTrace accepts what [hemera.NewTraceID] makes: anything else from outside stays out of logs.
// Such an id is 16 lower-case hexadecimal digits.
func validTrace(id string) bool {
	if len(id) != 16 {
		return false
	}
	for _, c := range id {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

// identityKey is the context key of the caller's identity within a verb.
type identityKey struct{}

// guard lets a request through to its verb with an identity, or answers why not. The body has not
// been read by then.
// A refusal is logged with the path and the address, never with the request: it may have secrets, such as a token.
func (d *door) guard(admin bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := d.admit(admin, r)
		if err != nil {
			d.Log.Warn("admin request refused", "verb", r.URL.Path, "peer", r.RemoteAddr, "who", who.Name,
				"trace", hemera.TraceID(r.Context()), "error", err)
			_ = d.failures.Write(w, r, toConnect(r.Context(), err))
			return
		}
		call, err := d.Turns.Begin(r.Context(), who)
		if err != nil {
			_ = d.failures.Write(w, r, toConnect(r.Context(), err))
			return
		}
		defer call.End()
		// From here on a verb may take as long as it needs.
		deadlines := http.NewResponseController(w)
		_ = deadlines.SetReadDeadline(time.Time{})
		_ = deadlines.SetWriteDeadline(time.Time{})
		next.ServeHTTP(w, r.WithContext(context.WithValue(call.In(r.Context()), identityKey{}, who)))
	})
}

// admit returns the identity of a request's sender, or why it may not call. admin verbs need an admin. The identity is
// returned with the error too, for the log.
func (d *door) admit(admin bool, r *http.Request) (hemera.Identity, error) {
	// A browser sends Origin, or Sec-Fetch-Site with plain GETs; programs do not. The owner of the socket is the
	// user, whatever web page wrote the request, so all web pages are refused. "none" is an address that the user
	// typed.
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Header.Get("Origin") != "" || site != "" && site != "none" {
		return hemera.Identity{}, errs.New(errs.Denied, "admin.Authorize", r.RemoteAddr, "requests from web pages are not taken").
			WithRemedy("use the hemera command, or a program that sends no Origin header")
	}
	// An XRootD session has proved who it is.
	who, known := caller(r.Context())
	if !known {
		var err error
		if who, err = d.authorize(r); err != nil {
			return who, err
		}
	}
	if admin {
		return who, adminOnly(r.Context(), who)
	}
	return who, nil
}

// adminOnly fails with Denied if who is not an admin. The context is the request's.
func adminOnly(ctx context.Context, who hemera.Identity) error {
	if who.Admin {
		return nil
	}
	text := "this needs an admin"
	if _, elsewhere := caller(ctx); elsewhere {
		text += ", and users of other machines are not admins"
	}
	return errs.New(errs.Denied, "admin.Authorize", who.Name, text).
		WithRemedy("run it on the manager's host as root or as the user the manager runs as")
}

// part is nil-safe access to a service: verbs of a part that is not there say so.
func part[T comparable](t T, name string) (T, error) {
	var none T
	if t == none {
		return t, errs.New(errs.Unsupported, "admin.Part", name, "this process does not serve it").
			WithRemedy("ask the manager: set HEMERA_URL to its address")
	}
	return t, nil
}

// unary serves one verb with one answer.
// admin says that the verb needs an admin. f runs in the goroutine of the request; its context ends with the
// connection.
func unary[Req, Res any](d *door, verb string, admin bool, f func(context.Context, hemera.Identity, *Req) (Res, error)) {
	h := connect.NewUnaryHandler(adminapi.Service+verb, func(ctx context.Context, r *connect.Request[rpc.Envelope]) (*connect.Response[rpc.Envelope], error) {
		who, _ := ctx.Value(identityKey{}).(hemera.Identity)
		res, err := f(ctx, who, r.Msg.Value.(*Req))
		if err != nil {
			return nil, toConnect(ctx, err)
		}
		return connect.NewResponse(&rpc.Envelope{Value: &res}), nil
	}, d.options(rpc.NewEnvelope[Req])...)
	d.serve(verb, admin, h)
}

// stream serves one verb with many answers.
// f calls send from one goroutine. send blocks while the client does not read, and fails when it has left; f then
// returns that error.
func stream[Req, Res any](d *door, verb string, admin bool, f func(context.Context, hemera.Identity, *Req, func(*Res) error) error) {
	d.serve(verb, admin, streamed(d, verb, f))
}

// streamed makes the handler of a verb with many answers.
func streamed[Req, Res any](d *door, verb string, f func(context.Context, hemera.Identity, *Req, func(*Res) error) error) http.Handler {
	return connect.NewServerStreamHandler(adminapi.Service+verb, func(ctx context.Context, r *connect.Request[rpc.Envelope], s *connect.ServerStream[rpc.Envelope]) error {
		who, _ := ctx.Value(identityKey{}).(hemera.Identity)
		send := func(res *Res) error { return s.Send(&rpc.Envelope{Value: res}) }
		if err := f(ctx, who, r.Msg.Value.(*Req), send); err != nil {
			return toConnect(ctx, err)
		}
		return nil
	}, d.options(rpc.NewEnvelope[Req])...)
}

// serve registers a verb behind the guard, and lists it on the page at /.
func (d *door) serve(verb string, admin bool, h http.Handler) {
	d.verbs = append(d.verbs, verb)
	d.mux.Handle(adminapi.Service+verb, d.guard(admin, h))
}

// options are those of every verb: the codec, a limit for requests, and an error instead of a crash.
func (d *door) options(request func(connect.Spec, any) error) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCodec(rpc.EnvelopeCodec(adminapi.Codec{Strict: true})),
		connect.WithRequestInitializer(request),
		connect.WithReadMaxBytes(adminapi.RequestMax),
		connect.WithRecover(func(ctx context.Context, spec connect.Spec, _ http.Header, p any) error {
			return toConnect(ctx, d.Panics.Note("admin.Serve", spec.Procedure+" "+hemera.TraceID(ctx), p))
		}),
	}
}

// audit logs a change that an admin asked for, before it is made.
// Verbs that only read are not logged here. A request with a secret needs a type that masks it: all fields are
// written.
func (d *door) audit(ctx context.Context, who hemera.Identity, verb string, request any) {
	d.Log.InfoContext(ctx, "admin", "verb", verb, "request", logged{request}, "who", who.Name, "uid", who.UID, "trace", hemera.TraceID(ctx))
}

// logged is a request in a log: JSON in logs of both kinds, as text logs would show Go's syntax.
type logged struct{ request any }

// MarshalJSON implements json.Marshaler.
func (l logged) MarshalJSON() ([]byte, error) { return json.Marshal(l.request) }

// MarshalText implements encoding.TextMarshaler, for text logs.
func (l logged) MarshalText() ([]byte, error) { return json.Marshal(l.request) }
