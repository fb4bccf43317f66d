package xrd

import (
	"context"
	"net"
	"strings"

	"hemera/doors/xrd/tpc"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// pull is a third-party copy into an open file. The client's first sync prepares it, the second starts it and waits.
type pull struct {
	puller   Puller // runs it
	source   PullSource
	prepared bool               // the first sync has come
	cancel   context.CancelFunc // of the copy; set with done
	done     chan struct{}      // nil until it runs; closed when it has ended
	err      error              // valid when done is closed
}

// pullSource parses the opaque part of an open and returns the file to copy.
func pullSource(path string, opaque wire.Opaque) PullSource {
	s := PullSource{Addr: opaque.Value(tpc.SourceKey), Path: path}
	// Stock clients write the user of their URL here. It is dropped, because no client may use a user name at the source
	// in the server's name.
	if _, after, ok := strings.Cut(s.Addr, "@"); ok {
		s.Addr = after
	}
	if _, _, err := net.SplitHostPort(s.Addr); err != nil {
		s.Addr = net.JoinHostPort(strings.Trim(s.Addr, "[]"), "1094") // the protocol's port
	}
	if lfn := opaque.Value(tpc.PathKey); lfn != "" { // the path at the source may differ
		s.Path = lfn
	}
	s.Key = opaque.Value(tpc.Key)
	// Clients write tabs in place of the ampersands of the source's opaque data.
	s.Opaque = wire.Opaque(strings.ReplaceAll(opaque.Value(tpc.OpaqueKey), "\t", "&"))
	return s
}

// finished reports whether the copy has run and ended.
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

// start runs the copy in a goroutine of its own.
func (p *pull) start(r *request, into hemera.Handle) {
	p.done = make(chan struct{})
	ctx, cancel := context.WithCancel(r.context()) // ends with the connection too
	p.cancel = cancel
	c, client := r.conn, r.session.tpcClient()
	go func() {
		defer close(p.done)
		defer cancel()
		// before done is closed, so that a goroutine that waits finds the error
		defer c.containPanic()
		p.err = errs.New(errs.Internal, "xrd.Copy", p.source.Path, "the copy failed in an unexpected way") // the error after a panic
		// The source compares the client's name with the host name that it found itself, so each possible name is
		// offered.
		for _, host := range tpc.HostNames(ctx, c.peer.Remote.Addr()) {
			p.source.Origins = append(p.source.Origins, client+"@"+host)
		}
		p.err = p.puller.Pull(ctx, p.source, into, func(int64) {})
	}()
}
