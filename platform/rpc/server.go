package rpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"connectrpc.com/connect"

	"hemera/platform/contain"
	"hemera/rules/limits"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Issuer admits nodes: it returns certificate chains (PEM) for certificate requests (PKCS #10, DER).
type Issuer interface {
	// Join admits a new node that sends the secret of a join token from an address. It fails with Unauthenticated or
	// Invalid.
	Join(ctx context.Context, secret string, request []byte, from netip.Addr) ([]byte, error)
	// Renew returns a known node's next certificate. It fails with Invalid.
	Renew(ctx context.Context, node hemera.NodeID, request []byte) ([]byte, error)
}

// ServerOptions has the parts of a server besides the services.
type ServerOptions struct {
	// Node returns the node in the certificate of a TLS connection. It fails with Unauthenticated. Required.
	Node func(tls.ConnectionState) (hemera.NodeID, error)
	// Member refuses nodes with a valid certificate that were removed from the cluster, or are not admitted yet. The
	// server calls it for every method but Register, so it must be fast. Nil accepts all.
	Member func(hemera.NodeID) error
	// Issuer answers Join and Renew; without it they fail with Unsupported.
	Issuer Issuer
	// Copies answers MayFetch; without it that fails with Unsupported.
	Copies hemera.CopyRules
	// Writes answers Announce; without it that fails with Unsupported.
	Writes hemera.OpenWrites
	// Tapes answers tape servers; without it their calls fail with Unsupported.
	Tapes tapeapi.Control
	Log   *slog.Logger
	// Panics counts calls that failed because of a panic. May be nil.
	Panics *contain.Panics
}

// NewServer returns a handler of the manager's control interface below [Path]. Every call but Join needs a client
// certificate. A node may act for itself only: Register, Heartbeat, Exchange and Announce with another node's id fail with Denied.
// The service gets the calling node by hemera.Caller.
func NewServer(control hemera.Control, o ServerOptions) (http.Handler, error) {
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Panics == nil {
		o.Panics = contain.New(o.Log)
	}
	if o.Member == nil {
		o.Member = func(hemera.NodeID) error { return nil }
	}
	s := &server{control: control, options: o, codec: c, mux: http.NewServeMux(),
		joins: limits.NewBudget[netip.Addr]("joins", limits.Bounds{Total: joinsMax, Share: joinsShare})}
	s.routes() // from here on the mux does not change
	return s.mux, nil
}

// NewHTTPServer returns a server with the limits that a control port needs. Serve it with ServeTLS on a listener of raw
// connections, wrapped by [Strangers]; config is the manager's (pki.Authority.ServerTLS). The time of an answer is not
// limited, because of long polls.
func NewHTTPServer(h http.Handler, config *tls.Config, log *slog.Logger) *http.Server {
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	return &http.Server{
		Handler:           h,
		TLSConfig:         config,
		ReadHeaderTimeout: 10 * time.Second, // nodes send a request at once
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,     // the header of a failure is far smaller
		ConnContext:       withStranger, // see Strangers
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streamsMax,
			SendPingTimeout:      15 * time.Second,
			PingTimeout:          15 * time.Second,
		},
	}
}

// server is the manager's end. Its only state is the number of joins under way.
type server struct {
	control hemera.Control // the manager's service
	options ServerOptions  // complete
	codec   connect.Codec
	mux     *http.ServeMux
	joins   *limits.Budget[netip.Addr] // by address: a join costs a signature
}

// handle registers one method for nodes.
func handle[Req, Res any](s *server, method string, do func(context.Context, hemera.NodeID, *Req) (*Res, error)) {
	h := unary(s, method, messageMax, func(ctx context.Context, req *Req) (*Res, error) {
		node, _ := hemera.Caller(ctx)
		return do(ctx, node, req)
	})
	s.mux.HandleFunc("POST "+Path+method, func(w http.ResponseWriter, r *http.Request) {
		node, err := s.caller(r)
		if err == nil && method != "Register" { // Register decides itself: a node that waits for its admission registers again and again
			err = s.options.Member(node)
		}
		if err != nil {
			turnedAway(w)
			plain(s.codec, w, r, err)
			return
		}
		// The connection has presented a node's certificate, so it is not a stranger any more.
		introduce(r.Context())
		h.ServeHTTP(w, r.WithContext(hemera.WithCaller(r.Context(), node)))
	})
}

// caller returns the node in the certificate of a request.
func (s *server) caller(r *http.Request) (hemera.NodeID, error) {
	if r.TLS == nil { // a mistake in the program, not of the client
		return 0, errs.New(errs.Unauthenticated, "rpc.Serve", r.URL.Path, "the control interface is served over TLS only")
	}
	node, err := s.options.Node(*r.TLS)
	if err != nil {
		s.options.Log.Warn("refused a control call", "method", r.URL.Path, "remote", r.RemoteAddr, "error", err)
	}
	return node, err
}

// unary returns the Connect handler of one method, with limits, trace and the form of errors.
func unary[Req, Res any](s *server, method string, limit int, do func(context.Context, *Req) (*Res, error)) http.Handler {
	answer := func(ctx context.Context, req *connect.Request[Envelope]) (*connect.Response[Envelope], error) {
		if id := req.Header().Get(headerTrace); id != "" && len(id) <= 64 {
			ctx = hemera.WithTrace(ctx, id)
		}
		res, err := do(ctx, req.Msg.Value.(*Req))
		if err != nil {
			return nil, toWire(s.codec, err)
		}
		return connect.NewResponse(&Envelope{res}), nil
	}
	return connect.NewUnaryHandler(Path+method, answer,
		connect.WithCodec(s.codec),
		connect.WithRequestInitializer(NewEnvelope[Req]),
		connect.WithReadMaxBytes(limit),
		connect.WithCompression("gzip", nil, nil), // messages are small, and the client accepts compressed answers
		connect.WithRecover(func(ctx context.Context, _ connect.Spec, _ http.Header, defect any) error {
			_ = s.options.Panics.Note("rpc."+method, hemera.TraceID(ctx), defect)
			return toWire(s.codec, errs.New(errs.Internal, "rpc."+method, "", "defect in the manager; its log says more"))
		}),
	)
}

// itself returns Denied for a node that acts for another.
func itself(caller, named hemera.NodeID, method string) error {
	if caller == named {
		return nil
	}
	return errs.New(errs.Denied, "rpc."+method, named.String(), fmt.Sprintf("the certificate is node %d's", caller)).
		WithRemedy("give each node its own state directory and join it with a token; copied certificates do not work")
}
