// Package pause waits for a time that a context may cut short. Retries and rates of all layers use it, so that each of them ends with its caller.
package pause

import (
	"context"
	"time"
)

// For blocks for a time, and returns nil. It returns the context's error as soon as the context ends, and at once for a context that has ended if the
// time is not positive.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
