package xrd

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"hemera"
	"hemera/doors/xrd/transport"
	"hemera/errs"
	"hemera/rules/wire"
)

// Keys of third-party copy in the opaque part of a URL (§4.1). The client opens the destination
// with the source's address, then the source with the destination's; the destination then opens
// the source by the key that only the three know.
const (
	tpcPrefix = "tpc."
	tpcKey    = "tpc.key"
	tpcSource = "tpc.src" // at the destination: where the source is
	tpcDest   = "tpc.dst" // at the source, from the client: which destination will come
	tpcOrigin = "tpc.org" // at the source, from the destination: for which client
	tpcLFN    = "tpc.lfn"
	tpcOpaque = "tpc.scgi"
)

// tpcParty is which of the three opens a copy makes this one is.
type tpcParty uint8

const (
	tpcTarget   tpcParty = 1
	tpcProvider tpcParty = 2
	tpcPuller   tpcParty = 3
)

// tpcPartyOf tells which part an open with tpc.key has in the copy.
func tpcPartyOf(o wire.Opaque) (tpcParty, error) {
	src, dst, org := o.Has(tpcSource), o.Has(tpcDest), o.Has(tpcOrigin)
	switch {
	case src && !dst && !org:
		return tpcTarget, nil
	case dst && !org && !src:
		return tpcProvider, nil
	case org && !dst && !src:
		return tpcPuller, nil
	}
	return 0, refuse(wire.ArgInvalid, "third-party copy: exactly one of tpc.src, tpc.dst and tpc.org goes with tpc.key")
}

// arrangeCopy makes a freshly opened file one end of a third-party copy, if the open says so.
func (n *nodeOpens) arrangeCopy(r *request, h *fileHandle, opaque wire.Opaque) error {
	if !opaque.Has(tpcKey) {
		return nil
	}
	party, err := tpcPartyOf(opaque)
	if err != nil {
		return err
	}
	if party == tpcProvider {
		a := arrangement{path: h.path, client: r.session.tpcClient(), owner: r.conn.countedAs(), token: opaque.Value(hemera.OpaqueCapability)}
		return n.rendezvous.register(opaque.Value(tpcKey), a, n.ttl)
	}
	if n.puller == nil {
		return refuse(wire.FSError, "tpc not supported")
	}
	if err := h.forWriting(); err != nil {
		return err
	}
	h.pull = &pull{puller: n.puller, source: pullSource(h.path, opaque)}
	return nil
}

// pullSource reads from the opaque part of an open which file is to be copied.
func pullSource(path string, opaque wire.Opaque) PullSource {
	s := PullSource{Addr: opaque.Value(tpcSource), Path: path}
	// Stock clients write the user of their URL here. That is a name at the source, and no client may use it in the
	// server's name: it is dropped.
	if _, after, ok := strings.Cut(s.Addr, "@"); ok {
		s.Addr = after
	}
	if _, _, err := net.SplitHostPort(s.Addr); err != nil {
		s.Addr = net.JoinHostPort(strings.Trim(s.Addr, "[]"), "1094")
	}
	if lfn := opaque.Value(tpcLFN); lfn != "" {
		s.Path = lfn
	}
	s.Key = opaque.Value(tpcKey)
	// Clients write tabs for the ampersands of what they hand through.
	s.Opaque = wire.Opaque(strings.ReplaceAll(opaque.Value(tpcOpaque), "\t", "&"))
	return s
}

// pull is a third-party copy into an open file. The client's first sync prepares it, the second
// runs it and waits.
type pull struct {
	puller   Puller
	source   PullSource
	prepared bool
	cancel   context.CancelFunc
	done     chan struct{} // nil until it runs; closed when it ended
	err      error         // valid once done is closed
}

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

// hostNames are what a source may call a host: stock servers use the DNS name where they find one,
// else the address in a form of their own.
func hostNames(ctx context.Context, ip netip.Addr) []string {
	number := "[" + ip.String() + "]"
	if ip.Is4() {
		number = "[::ffff:" + ip.String() + "]"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	names, err := net.DefaultResolver.LookupAddr(ctx, ip.String())
	switch {
	case err != nil || len(names) == 0:
		return []string{number}
	case ip.IsLoopback(): // they find no name for the form in which they see it
		return []string{number, strings.TrimSuffix(names[0], ".")}
	}
	return []string{strings.TrimSuffix(names[0], "."), number}
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
	ctx, cancel := context.WithCancel(r.context())
	p.cancel = cancel
	c, client := r.conn, r.session.tpcClient()
	go func() {
		defer close(p.done)
		defer cancel()
		defer c.containPanic()
		p.err = errs.New(errs.Internal, "xrd.Copy", p.source.Path, "the copy failed in an unexpected way") // if it panics
		for _, host := range hostNames(ctx, c.peer.Remote.Addr()) {
			p.source.Origins = append(p.source.Origins, client+"@"+host)
		}
		p.err = p.puller.Pull(ctx, p.source, into, func(int64) {})
	}()
}

// rendezvousMax bounds how many copies may be arranged at once, rendezvousShare how many of them by one client.
const rendezvousMax, rendezvousShare = 16384, 1024

// rendezvous remembers, at a source, which keys open which file once.
type rendezvous struct {
	mu           sync.Mutex
	arrangements map[string]arrangement
	changed      chan struct{} // closed and replaced when an arrangement is added
}

// arrangement is a copy that a client arranged: who may open which file.
type arrangement struct {
	path    string
	client  string
	owner   Client // the client that arranged it
	token   string
	expires time.Time
}

func (v *rendezvous) register(key string, m arrangement, ttl time.Duration) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if v.arrangements == nil {
		v.arrangements = map[string]arrangement{}
	}
	owned := 0
	for k, old := range v.arrangements {
		switch {
		case now.After(old.expires):
			delete(v.arrangements, k)
		case old.owner == m.owner:
			owned++
		}
	}
	switch _, taken := v.arrangements[key]; {
	case len(key) < 8:
		return refuse(wire.ArgInvalid, "tpc.key is too short")
	case taken:
		return refuse(wire.ItExists, "tpc.key is in use")
	case owned >= rendezvousShare:
		return errs.New(errs.Overloaded, "xrd.Copy", m.path, "this client has arranged too many third-party copies").
			WithRemedy("let those that were arranged begin first")
	case len(v.arrangements) >= rendezvousMax:
		return errs.New(errs.Overloaded, "xrd.Copy", m.path, "too many third-party copies are arranged")
	}
	m.expires = now.Add(ttl)
	v.arrangements[key] = m
	if v.changed != nil {
		close(v.changed)
		v.changed = nil
	}
	return nil
}

// redeem uses a key up. If it is not known, added is closed when the next one is registered.
func (v *rendezvous) redeem(key, path, client string) (m arrangement, ok bool, added <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m, ok = v.arrangements[key]
	if ok && m.path == path && m.client == client && time.Now().Before(m.expires) {
		delete(v.arrangements, key)
		return m, true, nil
	}
	if v.changed == nil {
		v.changed = make(chan struct{})
	}
	return arrangement{}, false, v.changed
}

// rendezvousWait is how long a destination that comes before its client is kept waiting.
const rendezvousWait = 8 * time.Second

// openRendezvous opens the file that a client arranged for this destination to read.
func (n *nodeOpens) openRendezvous(r *request, path string, opaque wire.Opaque) error {
	key := opaque.Value(tpcKey)
	client, _, _ := strings.Cut(opaque.Value(tpcOrigin), "@")
	o := wire.DecodeOpen(r.Body)
	if err := r.conn.out.Flush(); err != nil {
		return err
	}
	t := time.NewTimer(min(rendezvousWait, n.ttl))
	defer t.Stop()
	for {
		a, ok, added := n.rendezvous.redeem(key, path, client)
		if ok {
			capability := wire.Opaque(hemera.OpaqueCapability + "=" + a.token)
			h, err := n.openFile(r, path, capability, wire.Open{Options: wire.OpenRead})
			if err != nil {
				return err
			}
			return okOpen(r, h, o)
		}
		select {
		case <-added:
		case <-r.conn.ctx.Done():
			return transport.Broken{Err: r.conn.ctx.Err()}
		case <-t.C:
			return refuse(wire.NotAuthorized, "third-party copy: no client arranged this copy here")
		}
	}
}
