package manager

import (
	"context"
	"time"
)

// every calls do once an interval until the context ends. The first call comes after one interval. A call that takes longer
// than that is followed by the next at once, and none are made up for.
func every(ctx context.Context, interval time.Duration, do func()) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			do()
		}
	}
}
