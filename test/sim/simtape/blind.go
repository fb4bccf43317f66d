package simtape

import (
	"context"

	"hemera/tape/device"
)

// blinder is a drive whose tapes seem to end behind the trailer that an append has compared: the append sees nothing to spare.
type blinder struct{ device.Drive }

// Load implements device.Drive.
func (b blinder) Load(ctx context.Context) (device.Tape, error) {
	t, err := b.Drive.Load(ctx)
	if err != nil {
		return nil, err
	}
	return &blind{Tape: t}, nil
}

// blind is its tape. One goroutine uses it.
type blind struct {
	device.Tape
	left int // blocks until the tape seems to end; 0: it does not
}

// trailer is the number of blocks and marks that an append reads behind the filemarks that it spaces over.
const trailer = 4

// Space implements device.Tape.
func (b *blind) Space(ctx context.Context, n int) error {
	if b.left = 0; n > 0 {
		b.left = trailer + 1
	}
	return b.Tape.Space(ctx, n)
}

// Locate implements device.Tape.
func (b *blind) Locate(ctx context.Context, object uint64) error {
	b.left = 0
	return b.Tape.Locate(ctx, object)
}

// ReadBlock implements device.Tape.
func (b *blind) ReadBlock(ctx context.Context, buf []byte) (int, error) {
	if b.left > 0 {
		if b.left--; b.left == 0 {
			return 0, device.ErrEndOfData
		}
	}
	return b.Tape.ReadBlock(ctx, buf)
}
