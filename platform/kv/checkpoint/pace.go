package checkpoint

import (
	"context"
	"time"

	"hemera/platform/pause"
)

// pace spaces requests so that their bytes come at a rate. It is a token bucket that has room for one request. It waits until the context ends;
// golang.org/x/time/rate fails at once if the wait would be longer than that, with an error that has no kind.
type pace struct {
	bytesPerSecond int64     // 0: no limit
	next           time.Time // time of the next request
}

// wait blocks until a request of n bytes may begin, or ctx ends; it returns nil or ctx's error.
func (p *pace) wait(ctx context.Context, n int64) error {
	if p.bytesPerSecond <= 0 {
		return ctx.Err()
	}
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(time.Duration(n * int64(time.Second) / p.bytesPerSecond))
	return pause.For(ctx, wait)
}
