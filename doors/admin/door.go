package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"hemera/platform/contain"
	"hemera/platform/fairshare"
	"hemera/platform/rpc"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

const (
	// strangerTime bounds the time in which a request must arrive until its sender is identified.
	strangerTime = 10 * time.Second
	// strangerAnswer bounds the time of the whole request, with its answer, until its sender is identified.
	strangerAnswer = 30 * time.Second
)

// Services has the services behind the door. Verbs of a part that is nil fail with Unsupported.
type Services struct {
	Cluster   adminapi.ClusterAdmin // disks, nodes, spaces
	Tokens    adminapi.TokenAdmin   // join tokens
	Trust     adminapi.TrustAdmin   // admission of nodes, keys
	Maint     adminapi.MaintAdmin   // jobs, checks, fsck
	Observe   adminapi.Observer     // measurements
	Quota     adminapi.QuotaAdmin
	Recycle   adminapi.RecycleBin
	Tape      adminapi.TapeAdmin
	Sessions  adminapi.TapeSessions // of tape drives
	TapeKeys  adminapi.TapeKeys
	Staging   tapeapi.Staging
	Writes    adminapi.WriteAdmin // locks of writes
	Convert   adminapi.ConvertAdmin
	Status    adminapi.StatusAdmin // health, explanations
	Benchmark adminapi.Benchmarker
	Names     hemera.Names // the tree
	// Directories is used to walk trees.
	Directories hemera.Directories
	Attributes  hemera.Attributes
	Backups     adminapi.Backups
	Rebuild     adminapi.Rebuilder
	// Config lists the current settings, without secrets.
	Config func() []adminapi.Setting
	// Configure changes settings and reads the settings in files again. It returns when all settings that can change
	// while the server runs are in effect. A wrong setting is Invalid and changes nothing.
	Configure func(context.Context, adminapi.ConfigChange) (adminapi.ConfigResult, error)
	// Limits returns the bounds of the process; nil for none.
	Limits func() []Limit
	// Version describes the running program.
	Version adminapi.VersionInfo
	Log     *slog.Logger
	// Panics counts requests that failed by a panic. May be nil.
	Panics *contain.Panics
	// Turns limits the concurrent requests of users. With nil the door has its own limiter.
	Turns *fairshare.Limiter
}

// Authorizer identifies the sender of a request. It fails with Unauthenticated or Denied and a remedy. It must not read
// the body. It may ask the kernel, and returns soon.
type Authorizer func(*http.Request) (hemera.Identity, error)

// door is the handler of the admin API: routing, identification, errors and logs. Each subject has a file with its verbs,
// and a function that registers them.
type door struct {
	Services
	mux       *http.ServeMux       // all paths
	authorize Authorizer           // of HTTP requests
	verbs     []string             // for the page at /
	failures  *connect.ErrorWriter // for requests that reach no verb
	questions *fairshare.Limiter   // of questions of users to nodes; separate, because a node may take seconds
}

// traced gives every request a trace id before it can fail. It sets deadlines for senders that are not identified yet;
// guard removes them.
func (d *door) traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The trace id of a client connects the logs of both sides.
		id := r.Header.Get(adminapi.TraceHeader)
		if !validTrace(id) {
			id = hemera.NewTraceID()
		}
		w.Header().Set(adminapi.TraceHeader, id)
		// A client that is not identified yet must not keep a connection with a request that never ends.
		deadlines, now := http.NewResponseController(w), time.Now()
		_ = deadlines.SetReadDeadline(now.Add(strangerTime))
		_ = deadlines.SetWriteDeadline(now.Add(strangerAnswer))
		next.ServeHTTP(w, r.WithContext(hemera.WithTrace(r.Context(), id)))
	})
}

// validTrace reports whether id has the form of [hemera.NewTraceID], 16 lower-case hexadecimal digits. Other texts of
// clients must not reach logs.
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

// guard serves a request with its identity, or answers with the reason of the refusal. It does not read the body. It logs
// refusals with path and address, and never with the request, which may have secrets such as a token.
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
		// From here on a verb may take any time.
		deadlines := http.NewResponseController(w)
		_ = deadlines.SetReadDeadline(time.Time{})
		_ = deadlines.SetWriteDeadline(time.Time{})
		next.ServeHTTP(w, r.WithContext(context.WithValue(call.In(r.Context()), identityKey{}, who)))
	})
}

// admit returns the identity of a request's sender, or the reason why the sender may not call. admin states that the verb
// needs an admin. On errors too it returns the identity if it is known, for the log.
func (d *door) admit(admin bool, r *http.Request) (hemera.Identity, error) {
	// A browser sends Origin, or Sec-Fetch-Site with plain GETs; programs do not. On loopback the identity is that of the
	// user, whatever web page wrote the request, so all web pages are refused. "none" means that the user typed the
	// address.
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Header.Get("Origin") != "" || site != "" && site != "none" {
		return hemera.Identity{}, errs.New(errs.Denied, "admin.Authorize", r.RemoteAddr, "requests from web pages are not taken").
			WithRemedy("use the hemera command, or a program that sends no Origin header")
	}
	// An XRootD session has authenticated the sender.
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

// part returns a service. It fails with Unsupported if the process does not have it.
func part[T comparable](t T, name string) (T, error) {
	var none T
	if t == none {
		return t, errs.New(errs.Unsupported, "admin.Part", name, "this process does not serve it").
			WithRemedy("ask the manager: set HEMERA_URL to its address")
	}
	return t, nil
}

// unary serves one verb with one answer. admin states that the verb needs an admin. f runs in the goroutine of the
// request; its context ends with the connection.
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

// stream serves one verb with many answers. f calls send from one goroutine. send blocks while the client does not read,
// and fails when the client has left; f then returns that error.
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

// options returns the options of every verb: the codec, a bound for requests, and an error in place of a panic.
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

// audit logs a change that an admin requests, before it is made. Verbs that only read are not logged. All fields of the
// request are written, so a secret in it needs a type that masks it.
func (d *door) audit(ctx context.Context, who hemera.Identity, verb string, request any) {
	d.Log.InfoContext(ctx, "admin", "verb", verb, "request", logged{request}, "who", who.Name, "uid", who.UID, "trace", hemera.TraceID(ctx))
}

// logged encodes a request for logs. It is JSON also in text logs, which would otherwise show Go's syntax.
type logged struct{ request any }

// MarshalJSON implements json.Marshaler.
func (l logged) MarshalJSON() ([]byte, error) { return json.Marshal(l.request) }

// MarshalText implements encoding.TextMarshaler, for text logs.
func (l logged) MarshalText() ([]byte, error) { return json.Marshal(l.request) }
