package net

import (
	"bufio"
	"context"
	"io"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"

	"hemera/measure/tool"
	"hemera/words/errs"
)

// server is an iperf3 -s that this process started.
type server struct {
	cmd    *exec.Cmd
	stop   context.CancelFunc
	output io.ReadCloser // closed when the process has ended
}

// start starts a server and waits until it listens. The server ends with ctx or by close.
func start(ctx context.Context, iperf tool.Program, at netip.AddrPort) (*server, error) {
	ctx, stop := context.WithCancel(ctx)
	// Without --forceflush the first line would come when a buffer is full.
	cmd := iperf.Command(ctx, "", "--server", "--bind", at.Addr().String(), "--port", strconv.Itoa(int(at.Port())), "--forceflush")
	// Errors may be on either of its outputs.
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		stop()
		return nil, errs.Wrap(err, "net.Serve", "iperf3")
	}
	s := &server{cmd: cmd, stop: stop, output: out}
	// The pipe ends with the process: close waits for that.
	go func() {
		_ = cmd.Wait()
		_ = in.Close()
	}()
	// A connection as a test would count as a client.
	lines := bufio.NewScanner(out)
	said := "it ended"
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listening") {
			go s.drain()
			return s, nil
		}
		if text := strings.Trim(lines.Text(), "- "); text != "" {
			said = text
		}
	}
	s.close()
	if ctx.Err() != nil && said == "it ended" {
		return nil, errs.Wrap(ctx.Err(), "net.Serve", at.String())
	}
	return nil, errs.New(errs.Unavailable, "net.Serve", at.String(), said).WithRemedy("choose another --port")
}

// drain reads the server's output until it ends, so that the server does not block.
func (s *server) drain() { _, _ = io.Copy(io.Discard, s.output) }

// close ends the server and waits for it.
func (s *server) close() {
	s.stop()
	s.drain()
}
