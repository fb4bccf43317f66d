package net

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"hemera/measure/host"
	"hemera/measure/tool"
	"hemera/words/errs"
)

const (
	// readingPath is the path of a far end at which it answers with host.CPU as JSON.
	readingPath = "/cpu"
	// readingMax bounds a reading: 1,024 cores have 200 KB.
	readingMax = 1 << 20
	// readingWait bounds the time of an answer.
	readingWait = 5 * time.Second
)

// Serve runs the far end until ctx ends: iperf3 -s at the address, and readings of /proc/stat at the next port. It calls
// ready when both listen. There is no authentication: everyone who reaches the address can make traffic and read the load
// of the processors. It fails with NotFound without iperf3, and with Unavailable if a port is taken.
func Serve(ctx context.Context, at netip.AddrPort, ready func(version string)) error {
	iperf, err := tool.Find(ctx, "iperf3", "iperf3")
	if err != nil {
		return err
	}
	// The port of iperf3 is opened last, so that a client that finds it finds both.
	readings, err := listen(ctx, readingsOf(at))
	if err != nil {
		return err
	}
	defer func() { _ = readings.Close() }()
	s, err := start(ctx, iperf, at)
	if err != nil {
		return err
	}
	defer s.close()
	// Slow or large requests are ended.
	web := &http.Server{Handler: http.HandlerFunc(answer), ReadTimeout: readingWait, WriteTimeout: readingWait, MaxHeaderBytes: 1 << 14}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(readings) }()
	defer func() { _ = web.Close() }()
	ready(iperf.Version)
	select {
	case <-ctx.Done():
		return nil // the normal end
	case err := <-failed:
		return errs.Wrap(err, "net.Serve", at.String())
	}
}

// listen listens for readings.
func listen(ctx context.Context, at netip.AddrPort) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at.String())
	if err != nil {
		return nil, errs.New(errs.Unavailable, "net.Serve", at.String(), err.Error()).WithRemedy("choose another --port, or an address of this machine")
	}
	return l, nil
}

// readingsOf returns the address of a far end's readings.
func readingsOf(at netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(at.Addr(), at.Port()+1) }

// answer answers a reading.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != readingPath || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	c, err := host.ReadCPU("/")
	if err != nil {
		http.Error(w, errs.Reason(err, ""), http.StatusInternalServerError)
		return
	}
	// The type is that of package host: both ends are Hemera, and fields are only added.
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(c) // an error means that the client has left
}

// farCPU gets a reading of a far end. It fails with Unavailable if the far end has none, like a plain iperf3 -s.
func farCPU(ctx context.Context, at netip.AddrPort) (host.CPU, error) {
	ctx, cancel := context.WithTimeout(ctx, readingWait)
	defer cancel()
	// Plain HTTP, without secrets or authentication: see the package's doc.
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+readingsOf(at).String()+readingPath, nil)
	if err != nil {
		return host.CPU{}, errs.Wrap(err, "net.Read", at.String())
	}
	// No proxy: the far end is at the end of the measured path.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return host.CPU{}, errs.As(err, errs.Unavailable, "net.Read", at.String())
	}
	defer func() { _ = response.Body.Close() }()
	// Another service at the port may answer something else.
	var c host.CPU
	err = json.NewDecoder(io.LimitReader(response.Body, readingMax)).Decode(&c)
	if response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return c, errs.As(err, errs.Unavailable, "net.Read", at.String())
}
