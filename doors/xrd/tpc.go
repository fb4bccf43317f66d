package xrd

import (
	"context"
	"net"
	"net/netip"
	"strconv"
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
	tpcDest   = "tpc.dst" // at the source, from the client: who will come
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

func tpcPart(o wire.Opaque) (tpcParty, error) {
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

// client names this session's client to the other end of a copy.
func (c *conn) client() string {
	return printable(c.session.login.User) + "." + strconv.FormatUint(uint64(c.session.login.PID), 10)
}

// arrangeCopy makes a freshly opened file one end of a third-party copy, if the open says so.
func (c *conn) arrangeCopy(h *handle, path string, opaque wire.Opaque) error {
	if !opaque.Has(tpcKey) {
		return nil
	}
	part, err := tpcPart(opaque)
	if err != nil {
		return err
	}
	if part == tpcProvider {
		meeting := meeting{path: path, client: c.client(), owner: c.countedAs(), token: opaque.Value(hemera.OpaqueCapability)}
		return c.srv.rendezvous.register(opaque.Value(tpcKey), meeting, c.limits.RendezvousTTL)
	}
	if c.srv.o.Puller == nil {
		return refuse(wire.FSError, "tpc not supported")
	}
	if err := h.forWriting(); err != nil {
		return err
	}
	h.pull = &pull{source: c.pullSource(path, opaque)}
	return nil
}

func (c *conn) pullSource(path string, opaque wire.Opaque) PullSource {
	s := PullSource{Addr: opaque.Value(tpcSource), Path: path}
	// Stock clients write the user of their URL here. It is who they are at the source, and nobody's right
	// to be that in the server's name: it is dropped.
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

// syncGrace is how long a copy may take before its answer is promised for later.
const syncGrace = 50 * time.Millisecond

func (c *conn) syncPull(r *request, h *handle) error {
	p := h.pull
	if !p.prepared {
		p.prepared = true
		return c.ok(r, nil)
	}
	if p.done == nil {
		p.done = make(chan struct{})
		ctx, cancel := context.WithCancel(c.traced(r))
		p.cancel = cancel
		go func() {
			defer close(p.done)
			defer cancel()
			defer c.contain()
			p.err = errs.New(errs.Internal, "xrd.Copy", p.source.Path, "the copy failed in a way nobody foresaw") // if it panics
			for _, host := range hostNames(ctx, c.peer.Remote.Addr()) {
				p.source.Origins = append(p.source.Origins, c.client()+"@"+host)
			}
			p.err = c.srv.o.Puller.Pull(ctx, p.source, h.file, func(int64) {})
		}()
	}
	return c.background(r, syncGrace, func(ctx context.Context) ([]byte, error) {
		select {
		case <-p.done:
			return nil, p.err
		case <-ctx.Done():
			return nil, errs.Wrap(ctx.Err(), "xrd.Copy", p.source.Path)
		}
	})
}

// rendezvousMax bounds how many copies may be arranged at once, rendezvousShare how many of them by one client.
const rendezvousMax, rendezvousShare = 16384, 1024

// rendezvous remembers, at a source, which keys open which file once.
type rendezvous struct {
	mu       sync.Mutex
	meetings map[string]meeting
	changed  chan struct{} // closed and made anew when a meeting is added
}

type meeting struct {
	path    string
	client  string
	owner   Client // who arranged it
	token   string
	expires time.Time
}

func (v *rendezvous) register(key string, m meeting, ttl time.Duration) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if v.meetings == nil {
		v.meetings = map[string]meeting{}
	}
	owned := 0
	for k, old := range v.meetings {
		switch {
		case now.After(old.expires):
			delete(v.meetings, k)
		case old.owner == m.owner:
			owned++
		}
	}
	switch _, taken := v.meetings[key]; {
	case len(key) < 8:
		return refuse(wire.ArgInvalid, "tpc.key is too short")
	case taken:
		return refuse(wire.ItExists, "tpc.key is in use")
	case owned >= rendezvousShare:
		return errs.New(errs.Overloaded, "xrd.Copy", m.path, "this client has arranged too many third-party copies").
			WithRemedy("let those that were arranged begin first")
	case len(v.meetings) >= rendezvousMax:
		return errs.New(errs.Overloaded, "xrd.Copy", m.path, "too many third-party copies are arranged")
	}
	m.expires = now.Add(ttl)
	v.meetings[key] = m
	if v.changed != nil {
		close(v.changed)
		v.changed = nil
	}
	return nil
}

// take uses a key up. When it is not known, news is closed at the next chance that it is.
func (v *rendezvous) take(key, path, client string) (m meeting, ok bool, news <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m, ok = v.meetings[key]
	if ok && m.path == path && m.client == client && time.Now().Before(m.expires) {
		delete(v.meetings, key)
		return m, true, nil
	}
	if v.changed == nil {
		v.changed = make(chan struct{})
	}
	return meeting{}, false, v.changed
}

// rendezvousWait is how long a destination that comes before its client is kept waiting.
const rendezvousWait = 8 * time.Second

// openRendezvous opens the file that a client arranged for this destination to read.
func (c *conn) openRendezvous(r *request, path string, opaque wire.Opaque) error {
	key := opaque.Value(tpcKey)
	client, _, _ := strings.Cut(opaque.Value(tpcOrigin), "@")
	o := wire.DecodeOpen(r.Body)
	if err := c.out.Flush(); err != nil {
		return err
	}
	t := time.NewTimer(min(rendezvousWait, c.limits.RendezvousTTL))
	defer t.Stop()
	for {
		m, ok, news := c.srv.rendezvous.take(key, path, client)
		if ok {
			grant := wire.Opaque(hemera.OpaqueCapability + "=" + m.token)
			h, err := c.openFile(r, path, grant, wire.Open{Options: wire.OpenRead})
			if err != nil {
				return err
			}
			return c.okOpen(r, h, o)
		}
		select {
		case <-news:
		case <-c.ctx.Done():
			return transport.Broken{Err: c.ctx.Err()}
		case <-t.C:
			return refuse(wire.NotAuthorized, "third-party copy: no client arranged this copy here")
		}
	}
}
