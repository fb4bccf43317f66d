package manager

import (
	"context"
	"time"

	"hemera/platform/contain"
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

// beginAgain is the rest of a loop that ended in a panic.
const beginAgain = 30 * time.Second

// loop returns a background loop that begins again after a panic. Its work follows from the namespace, the cluster and the time: a new beginning
// finds it.
func loop(ctx context.Context, panics *contain.Panics, name string, run func(context.Context) error) func() error {
	return func() (err error) {
		for !panics.Run("manager.Run", name, func() { err = run(ctx) }) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(beginAgain):
			}
		}
		return err
	}
}
