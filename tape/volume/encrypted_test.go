package volume_test

import (
	"context"
	"errors"
	"testing"

	"hemera/tape/device"
	"hemera/tape/internal/memtape"
	"hemera/tape/volume"
	"hemera/words/errs"
)

// locked is a tape whose blocks from one on are encrypted with a key that is not set.
type locked struct {
	*memtape.Tape
	from uint64
}

func (l *locked) ReadBlock(ctx context.Context, buf []byte) (int, error) {
	if p, err := l.Position(ctx); err != nil || p.Object >= l.from {
		return 0, errors.Join(device.ErrEncrypted, err)
	}
	return l.Tape.ReadBlock(ctx, buf)
}

// What cannot be read without a key is something of worth: it goes with force only.
func TestAnEncryptedTapeIsNotLabelled(t *testing.T) {
	for from := range uint64(2) { // all of it, and all but VOL1
		m, v := labelled(t)
		put(t, appendTo(t, v, volume.Last{}), 1, 1000, 1000)
		l := &locked{m, from}
		if err := volume.Format(t.Context(), l, volume.Label{VID: vid}, writer()); !errors.Is(err, errs.NotEmpty) || errs.RemedyOf(err) == "" {
			t.Errorf("encrypted from block %d on: %v, want NotEmpty", from, err)
		}
		if err := volume.Format(t.Context(), l, volume.Label{VID: vid, Force: true}, writer()); err != nil {
			t.Errorf("with force: %v", err)
		}
		if found, err := volume.Inspect(t.Context(), m); err != nil || found != (volume.Contents{VID: vid}) {
			t.Errorf("after that: %+v, %v", found, err)
		}
	}
}
