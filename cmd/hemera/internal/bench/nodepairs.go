package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"hemera/measure/result"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// farWait bounds the start of a far end, and farPause is the interval of polls.
const farWait, farPause = 15 * time.Second, 100 * time.Millisecond

// everyPair measures the network between any two of the nodes, one pair after another, so that they do not share a link.
func (l *nodesLevel) everyPair(ctx context.Context, m measurer, rec *result.Recorder) error {
	if len(l.order) < 2 {
		return errs.New(errs.Invalid, "hemera.BenchNet", "--nodes", "a pair needs two nodes").WithRemedy("name more nodes, or a HOST that they all measure to")
	}
	// Each pair once: one of its ends measures both directions.
	total := len(l.order) * (len(l.order) - 1) / 2
	var failed error
	n := 0
	for i, near := range l.order {
		for _, far := range l.order[i+1:] {
			rec.Step(n, total, "%s to %s", l.nodes[near], l.nodes[far])
			n++
			if err := l.pair(ctx, m, near, far); err != nil {
				failed = errors.Join(failed, err)
			}
			if ctx.Err() != nil {
				return failed
			}
		}
	}
	return failed
}

// pair makes one node serve and another measure the path to it.
func (l *nodesLevel) pair(ctx context.Context, m measurer, near, far hemera.NodeID) error {
	host, _, err := net.SplitHostPort(l.nodes[far])
	if err != nil {
		return errs.Wrap(err, "hemera.BenchNet", l.nodes[far])
	}
	// The far end listens at an address, not at a name.
	address, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return errs.Wrap(err, "hemera.BenchNet", host)
	}
	// The far end serves until this context ends.
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	var group sync.WaitGroup
	group.Go(func() {
		_, err := m.Measure(serving, far, []string{"bench", "net", "--serve=" + address[0], "--port=" + strconv.Itoa(l.port())})
		ended <- err
	})
	// The next pair needs the port.
	defer func() {
		stop()
		group.Wait()
	}()
	if err := awaitFar(ctx, net.JoinHostPort(address[0], strconv.Itoa(l.port()+1)), ended); err != nil {
		return errs.Wrap(err, "hemera.BenchNet", l.nodes[far])
	}
	return l.one(ctx, m, near, append([]string{"bench", "net", address[0]}, l.words[2:]...))
}

// port returns the port of iperf3.
func (l *nodesLevel) port() int { return l.level.(*netLevel).o.Port }

// awaitFar returns when a far end serves: when it answers readings of its processors. ended reports its failure.
func awaitFar(ctx context.Context, at string, ended chan error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, farWait, errs.New(errs.Unavailable, "hemera.BenchNet", at, fmt.Sprintf("the far end does not answer within %s", farWait)).
		WithRemedy("a firewall must let ports 5201 and 5202 through, from here too"))
	defer cancel()
	// It answers readings when iperf3 listens, and not before.
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/cpu", http.NoBody)
		if err != nil {
			return errs.Wrap(err, "hemera.BenchNet", at)
		}
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
			return nil
		}
		select {
		case err := <-ended:
			ended <- err // for the function that waits for its end
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(farPause):
		}
	}
}
