package xrd

import (
	"context"
	"strings"
	"time"

	"hemera/doors/xrd/tpc"
	"hemera/doors/xrd/translate"
	"hemera/doors/xrd/transport"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// copyEnds serves a node's part in third-party copies. As the destination it keeps the source with the handle, and the
// client's syncs drive the copy. As the source it remembers the client's arrangement, and opens the file for the
// destination.
type copyEnds struct {
	puller     Puller // nil: no third-party copies into this node
	rendezvous tpc.Rendezvous[Client]
	ttl        time.Duration // life of a third-party copy's key
}

// arrange makes a newly opened file one end of a third-party copy, if the open says so.
func (e *copyEnds) arrange(r *request, h *fileHandle, opaque wire.Opaque) error {
	if !opaque.Has(tpc.Key) {
		return nil
	}
	party, err := tpc.PartyOf(opaque)
	if err != nil {
		return err
	}
	if party == tpc.Provider { // the client opened the source; the destination will come with the same key
		a := tpc.Arrangement[Client]{Path: h.path, Client: r.session.tpcClient(), Owner: h.client, Token: opaque.Value(wire.OpaqueCapability)}
		return e.rendezvous.Register(opaque.Value(tpc.Key), a, e.ttl)
	}
	if e.puller == nil {
		return translate.Refuse(wire.FSError, "tpc not supported; operation not supported")
	}
	if err := h.forWriting(); err != nil { // a destination is written
		return err
	}
	h.pull = &pull{puller: e.puller, source: pullSource(h.path, opaque)}
	return nil
}

// syncGrace is the time after which the answer of a copy is promised.
const syncGrace = 50 * time.Millisecond

// syncPull answers the syncs of the destination of a copy: the first prepares the copy, the second starts it and waits
// for its end.
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

// rendezvousWait bounds the wait of a destination that comes before its client.
const rendezvousWait = 8 * time.Second

// await returns the capability with which a client arranged that this destination may read the file. It waits for the
// client, which may come after the destination.
func (e *copyEnds) await(r *request, path string, opaque wire.Opaque) (token string, err error) {
	key := opaque.Value(tpc.Key)
	client, _, _ := strings.Cut(opaque.Value(tpc.OriginKey), "@")
	if err := r.conn.out.Flush(); err != nil {
		return "", err
	}
	r.lend()
	t := time.NewTimer(min(rendezvousWait, e.ttl))
	defer t.Stop()
	for {
		a, ok, added := e.rendezvous.Redeem(key, path, client)
		if ok {
			return a.Token, nil
		}
		select {
		case <-added:
		case <-r.conn.ctx.Done():
			return "", transport.Broken{Err: r.conn.ctx.Err()}
		case <-t.C:
			return "", translate.Refuse(wire.NotAuthorized, "third-party copy: no client arranged this copy here")
		}
	}
}
