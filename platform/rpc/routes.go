package rpc

import (
	"context"
	"net/http"
	"net/netip"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// routes registers all methods.
func (s *server) routes() {
	s.routeNodes()
	s.routeFiles()
	s.routeCopies()
	s.routeTapes()
	s.routeCertificates()
}

// routeNodes registers the methods of a node's membership. A node may act for itself only.
func (s *server) routeNodes() {
	handle(s, "Register", func(ctx context.Context, node hemera.NodeID, r *hemera.NodeHello) (*hemera.NodeWelcome, error) {
		if r.ID == 0 { // a node that has just joined and takes its id from the certificate
			r.ID = node
		}
		if err := itself(node, r.ID, "Register"); err != nil {
			return nil, err
		}
		welcome, err := s.control.Register(ctx, *r)
		return &welcome, err
	})
	handle(s, "Heartbeat", func(ctx context.Context, node hemera.NodeID, r *heartbeatRequest) (*hemera.HeartbeatReply, error) {
		if err := itself(node, r.Node, "Heartbeat"); err != nil {
			return nil, err
		}
		reply, err := s.control.Heartbeat(ctx, r.Node, r.Epoch, r.Report)
		return &reply, err
	})
	handle(s, "Exchange", func(ctx context.Context, node hemera.NodeID, r *exchangeRequest) (*hemera.ExchangeReply, error) {
		if err := itself(node, r.Node, "Exchange"); err != nil {
			return nil, err
		}
		reply, err := s.control.Exchange(ctx, r.Node, r.Epoch, r.Results)
		return &reply, err
	})
	handle(s, "Announce", func(ctx context.Context, node hemera.NodeID, r *announceRequest) (*empty, error) {
		if s.options.Writes == nil {
			return nil, errs.New(errs.Unsupported, "rpc.Announce", "", "this manager takes no announcements of writes")
		}
		if err := itself(node, r.Node, "Announce"); err != nil {
			return nil, err
		}
		return &empty{}, s.options.Writes.Announce(ctx, r.announcement())
	})
}

// routeFiles registers the methods on files. The permit in a request decides what the node may do, whichever node it is.
func (s *server) routeFiles() {
	handle(s, "Commit", func(ctx context.Context, _ hemera.NodeID, r *commitRequest) (*acknowledgement, error) {
		seen, err := s.control.Commit(ctx, r.request())
		return &acknowledgement{seen}, err
	})
	handle(s, "Abort", func(ctx context.Context, _ hemera.NodeID, r *abortRequest) (*empty, error) {
		return &empty{}, s.control.Abort(ctx, hemera.ParsePermit(r.Token))
	})
	handle(s, "Keep", func(ctx context.Context, _ hemera.NodeID, r *keepRequest) (*empty, error) {
		return &empty{}, s.control.Keep(ctx, hemera.ParsePermit(r.Token), r.Size)
	})
	handle(s, "Replace", func(ctx context.Context, _ hemera.NodeID, r *replaceRequest) (*grantReply, error) {
		grant, err := s.control.Replace(ctx, hemera.ParsePermit(r.Token), r.Failed)
		if err != nil {
			return nil, err
		}
		return newGrantReply(&grant)
	})
	handle(s, "Resolve", func(ctx context.Context, _ hemera.NodeID, r *resolveRequest) (*resolveReply, error) {
		entry, path, err := s.control.Resolve(ctx, r.ID)
		return &resolveReply{entry, path}, err
	})
}

// routeCopies registers the rule of third-party copies.
func (s *server) routeCopies() {
	handle(s, "MayFetch", func(ctx context.Context, _ hemera.NodeID, r *mayFetchRequest) (*empty, error) {
		if s.options.Copies == nil {
			return nil, errs.New(errs.Unsupported, "rpc.MayFetch", r.Source.Name, "this manager has no rule for third-party copies")
		}
		return &empty{}, s.options.Copies.MayFetch(ctx, r.Source)
	})
}

// remoteKey is the context key of a joining client's address.
type remoteKey struct{}

// routeCertificates registers Join for any client, since a joining node has no certificate yet, and Renew for nodes.
func (s *server) routeCertificates() {
	join := unary(s, "Join", joinMax, func(ctx context.Context, r *joinRequest) (*certificateReply, error) {
		if s.options.Issuer == nil {
			return nil, errs.New(errs.Unsupported, "rpc.Join", "", "this manager admits no nodes")
		}
		remote, _ := ctx.Value(remoteKey{}).(string) // tokens may be bound to networks
		at, _ := netip.ParseAddrPort(remote)
		chain, err := s.options.Issuer.Join(ctx, r.Secret, r.Request, at.Addr())
		if err != nil {
			s.options.Log.Warn("refused a node that wants to join", "remote", remote, "error", err)
		}
		return &certificateReply{chain}, err
	})
	s.mux.HandleFunc("POST "+Path+"Join", func(w http.ResponseWriter, r *http.Request) {
		done, err := s.beginJoin(w, r)
		if err != nil {
			plain(s.codec, w, r, err)
			return
		}
		defer done()
		join.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), remoteKey{}, r.RemoteAddr)))
	})
	handle(s, "Renew", func(ctx context.Context, node hemera.NodeID, r *renewRequest) (*certificateReply, error) {
		if s.options.Issuer == nil {
			return nil, errs.New(errs.Unsupported, "rpc.Renew", "", "this manager issues no certificates")
		}
		chain, err := s.options.Issuer.Renew(ctx, node, r.Request)
		return &certificateReply{chain}, err
	})
}
