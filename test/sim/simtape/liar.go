package simtape

import (
	"context"

	"hemera/tape/device"
)

// liar is a drive that says that it has flushed, and has not: what the manager hears of is not durable.
type liar struct{ device.Drive }

// Load implements device.Drive.
func (l liar) Load(ctx context.Context) (device.Tape, error) {
	t, err := l.Drive.Load(ctx)
	if err != nil {
		return nil, err
	}
	// Features beside the interface are hidden by it: the session does without them.
	return lie{t}, nil
}

// lie is its tape.
type lie struct{ device.Tape }

// Flush implements device.Tape, and flushes nothing.
func (lie) Flush(context.Context) error { return nil }

// WriteMarks implements device.Tape. It never waits for the buffer.
func (l lie) WriteMarks(ctx context.Context, n int, _ bool) error {
	// No marks at all is a flush by another name.
	if n == 0 {
		return nil
	}
	return l.Tape.WriteMarks(ctx, n, true)
}
