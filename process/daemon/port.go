package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/doors/xrd"
	"hemera/platform/link"
	"hemera/platform/poll"
	"hemera/platform/rpc"
	"hemera/process/resources"
)

// shutdownTime is the time that a port gives requests under way at its end; closeTime bounds the time that the end of a
// process then waits for a call that has stalled at a disk.
const (
	shutdownTime = 5 * time.Second
	closeTime    = 5 * time.Second
	// webIdle is the time that an HTTP connection may wait for its next request: longer than the interval of monitoring.
	webIdle = 75 * time.Second
)

// port is one TCP port and its servers: XRootD always, HTTP and control if set. Its owner sets it up after openPort; it
// is immutable while it serves.
type port struct {
	listener net.Listener      // of all protocols
	extra    []net.Listener    // HTTP only
	loop     *poll.Loop        // of the XRootD connections; nil: each has a goroutine
	shared   bool              // the loop belongs to another part
	xrd      *xrd.Server       // never nil
	web      http.Handler      // nil: no HTTP
	control  http.Handler      // of nodes; at a manager only
	tls      *tls.Config       // for control
	grace    time.Duration     // time for which a stopping door waits for requests under way
	bounds   *resources.Bounds // of the process; nil for none
	log      *slog.Logger
}

// openPort listens on the address. Without a loop it makes one, unless withoutLoop is set. The kernel queues clients from
// now on; no request is answered before serve.
func openPort(ctx context.Context, addr string, loop *poll.Loop, withoutLoop bool, log *slog.Logger) (*port, error) {
	listener, err := link.Listen(ctx, addr, link.DefaultOptions())
	if err != nil {
		return nil, err
	}
	p := &port{listener: listener, loop: loop, shared: loop != nil, grace: shutdownTime, log: log}
	if loop == nil && !withoutLoop {
		p.loop, err = poll.NewLoop()
	}
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	return p, nil
}

// serve serves until the context ends, and then lets requests under way finish within the grace. It starts one goroutine
// for each listener and each server, and one that stops them. The first that fails ends the others.
func (p *port) serve(ctx context.Context) error {
	if p.bounds != nil {
		p.bounds.AddRelief(p.xrd.CloseIdle)
	}
	mux := link.NewMux(p.listener, p.muxOptions())
	group, ctx := errgroup.WithContext(ctx)
	door := mux.Listener(link.XRootD)
	group.Go(func() error { return ended(ctx, p.xrd.Serve(ctx, door)) })
	// Stopped in this order, one after the other, within one grace.
	stop := []func(context.Context) error{p.xrd.Shutdown}
	if p.web != nil {
		// There is no limit for a whole request here: the admin door sets deadlines until it has identified the sender.
		server := &http.Server{
			Handler: p.web, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: webIdle, MaxHeaderBytes: 64 << 10,
			ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug), ConnContext: withProcess,
		}
		l := mux.Listener(link.HTTP)
		group.Go(func() error { return ended(ctx, server.Serve(l)) })
		for _, listener := range p.extra {
			extra := link.NewMux(listener, p.muxOptions())
			more := extra.Listener(link.HTTP)
			group.Go(func() error { return ended(ctx, server.Serve(more)) })
			group.Go(func() error { return ended(ctx, extra.Serve()) })
			stop = append(stop, func(context.Context) error { return extra.Close() })
		}
		stop = append(stop, func(ctx context.Context) error {
			if server.Shutdown(ctx) == nil {
				return nil
			}
			return server.Close() // a backup under way would keep the store from closing
		})
	}
	if p.control != nil {
		server := rpc.NewHTTPServer(p.control, p.tls, p.log)
		l := rpc.Strangers(mux.Listener(link.TLS))
		group.Go(func() error { return ended(ctx, server.ServeTLS(l, "", "")) })
		stop = append(stop, func(context.Context) error { return server.Close() }) // long polls would never end
	}
	group.Go(func() error { return ended(ctx, mux.Serve()) })
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.grace)
		defer cancel()
		for _, s := range stop {
			_ = s(grace)
		}
		return mux.Close()
	})
	return group.Wait()
}

// muxOptions returns the options that make the port use the bounds of the process. A bound that is reached first closes
// idle XRootD sessions, of all ports if the process has bounds.
func (p *port) muxOptions() link.MuxOptions {
	o := link.MuxOptions{Log: p.log, Relieve: p.xrd.CloseIdle}
	if p.bounds != nil {
		o.Connections, o.Admin, o.Pending = p.bounds.Connections, p.bounds.Admin, p.bounds.Pending
		o.Relieve = p.bounds.Relieve
	}
	return o
}

// close releases the resources of a port that is not serving.
func (p *port) close() {
	_ = p.listener.Close()
	if p.loop != nil && !p.shared {
		runWithin(closeTime, p.loop.Close)
	}
	for _, l := range p.extra {
		_ = l.Close()
	}
}

// runWithin runs end, but waits for it only for the time most: a call that has stalled in the kernel ends with the
// process. Its goroutine stays. It is used only at the end of a process.
func runWithin(most time.Duration, end func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		end()
	}()
	select {
	case <-done:
	case <-time.After(most):
	}
}

// ended returns the error of a server that returned: nil if it was stopped. An error after the context has ended is a
// consequence of the stop.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
