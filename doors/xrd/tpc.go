package xrd

import (
	"context"
	"net"
	"strings"
	"time"

	"hemera/doors/xrd/tpc"
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// arrangeCopy makes a freshly opened file one end of a third-party copy, if the open says so.
//
// The node is one end of a third-party copy. As the destination it keeps what to pull with the handle, and the client's
// syncs drive the copy. As the source it remembers the client's arrangement, and opens the file for the destination.
func (n *nodeOpens) arrangeCopy(r *request, h *fileHandle, opaque wire.Opaque) error {
	if !opaque.Has(tpc.Key) {
		return nil
	}
	party, err := tpc.PartyOf(opaque)
	if err != nil {
		return err
	}
	if party == tpc.Provider { // the client opened the source: the destination will come with the same key
		a := tpc.Arrangement[Client]{Path: h.path, Client: r.session.tpcClient(), Owner: h.client, Token: opaque.Value(wire.OpaqueCapability)}
		return n.rendezvous.Register(opaque.Value(tpc.Key), a, n.ttl)
	}
	if n.puller == nil {
		return translate.Refuse(wire.FSError, "tpc not supported; operation not supported")
	}
	if err := h.forWriting(); err != nil { // a destination is written
		return err
	}
	h.pull = &pull{puller: n.puller, source: pullSource(h.path, opaque)}
	return nil
}

// pullSource reads from the opaque part of an open which file is to be copied.
func pullSource(path string, opaque wire.Opaque) PullSource {
	s := PullSource{Addr: opaque.Value(tpc.SourceKey), Path: path}
	// Stock clients write the user of their URL here. That is a name at the source, and no client may use it in the
	// server's name: it is dropped.
	if _, after, ok := strings.Cut(s.Addr, "@"); ok {
		s.Addr = after
	}
	if _, _, err := net.SplitHostPort(s.Addr); err != nil {
		s.Addr = net.JoinHostPort(strings.Trim(s.Addr, "[]"), "1094") // the protocol's port
	}
	if lfn := opaque.Value(tpc.PathKey); lfn != "" { // the source may have it under another path
		s.Path = lfn
	}
	s.Key = opaque.Value(tpc.Key)
	// Clients write tabs for the ampersands of what they hand through.
	s.Opaque = wire.Opaque(strings.ReplaceAll(opaque.Value(tpc.OpaqueKey), "\t", "&"))
	return s
}

// pull is a third-party copy into an open file. The client's first sync prepares it, the second
// runs it and waits.
type pull struct {
	puller   Puller // runs it
	source   PullSource
	prepared bool               // the first sync came
	cancel   context.CancelFunc // of the copy; set with done
	done     chan struct{}      // nil until it runs; closed when it ended
	err      error              // valid once done is closed
}

// finished reports whether the copy ran and ended.
func (p *pull) finished() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends the copy and waits until it no longer uses the file.
func (p *pull) stop() {
	if p.done != nil {
		p.cancel()
		<-p.done
	}
}

// syncGrace is how long a copy may take before its answer is promised.
const syncGrace = 50 * time.Millisecond

// syncPull answers the syncs of a file that is copied into: the first prepares the copy, the second starts it and
// waits for its end.
func syncPull(r *request, h *fileHandle) error {
	p := h.pull
	if !p.prepared {
		p.prepared = true
		return r.ok(nil)
	}
	if p.done == nil {
		p.start(r, h.file)
	}
	return runAsyncAfter(r, syncGrace, func(ctx context.Context) ([]byte, error) {
		select {
		case <-p.done:
			return nil, p.err
		case <-ctx.Done():
			return nil, errs.Wrap(ctx.Err(), "xrd.Copy", p.source.Path)
		}
	})
}

// start runs the copy on a goroutine of its own.
func (p *pull) start(r *request, into hemera.Handle) {
	p.done = make(chan struct{})
	ctx, cancel := context.WithCancel(r.context()) // ends with the connection too
	p.cancel = cancel
	c, client := r.conn, r.session.tpcClient()
	go func() {
		defer close(p.done)
		defer cancel()
		defer c.containPanic()                                                                             // before done is closed, so that a goroutine that waits finds the error
		p.err = errs.New(errs.Internal, "xrd.Copy", p.source.Path, "the copy failed in an unexpected way") // if it panics
		// The source compares the client's name with what it saw itself, so each name that it may have seen is offered.
		for _, host := range tpc.HostNames(ctx, c.peer.Remote.Addr()) {
			p.source.Origins = append(p.source.Origins, client+"@"+host)
		}
		p.err = p.puller.Pull(ctx, p.source, into, func(int64) {})
	}()
}

// rendezvousWait is how long a destination that comes before its client is kept waiting.
const rendezvousWait = 8 * time.Second

// openRendezvous opens the file that a client arranged for this destination to read.
func (n *nodeOpens) openRendezvous(r *request, path string, opaque wire.Opaque) error {
	key := opaque.Value(tpc.Key)
	client, _, _ := strings.Cut(opaque.Value(tpc.OriginKey), "@")
	o := wire.DecodeOpen(r.Body)
	if err := r.conn.out.Flush(); err != nil {
		return err
	}
	r.lend()
	t := time.NewTimer(min(rendezvousWait, n.ttl))
	defer t.Stop()
	for {
		a, ok, added := n.rendezvous.Redeem(key, path, client)
		if ok {
			capability := wire.Opaque(wire.OpaqueCapability + "=" + a.Token)
			h, err := n.openFile(r, path, capability, wire.Open{Options: wire.OpenRead})
			if err != nil {
				return err
			}
			return okOpen(r, h, o)
		}
		select {
		case <-added: // the client may come after the destination
		case <-r.conn.ctx.Done():
			return transport.Broken{Err: r.conn.ctx.Err()}
		case <-t.C:
			return translate.Refuse(wire.NotAuthorized, "third-party copy: no client arranged this copy here")
		}
	}
}
