package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hemera/tape/internal/memtape"
	"hemera/tape/session"
	"hemera/tape/volume"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// bottomless is a tape that keeps labels and no data.
type bottomless struct {
	*memtape.Tape
	zero []byte
}

func (b bottomless) WriteBlock(ctx context.Context, p []byte) error {
	if len(p) > 80 {
		p = b.zero // one byte, so that files are still counted in blocks
	}
	return b.Tape.WriteBlock(ctx, p)
}

// zeros is a disk with files of zeros, and a journal that believes everything.
type zeros struct {
	jobs []tapeapi.Work
}

func (z *zeros) Next(context.Context, int, int64) ([]tapeapi.Work, bool, error) {
	return z.jobs, true, nil
}

func (z *zeros) Open(context.Context, tapeapi.Work) (session.Content, error) { return z, nil }
func (z *zeros) ReadAt(_ context.Context, p []byte, _ int64) error           { clear(p); return nil }
func (z *zeros) Close() error                                                { return nil }
func (z *zeros) Report(context.Context, tapeapi.Results) error               { return nil }

// BenchmarkArchive measures the cost of a session itself: disks and tape take no time, checksums and copies do.
func BenchmarkArchive(b *testing.B) {
	for _, size := range []int64{64 << 10, 1 << 20, 64 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			n := max(1, (1<<30)/size)
			b.SetBytes(n * size)
			z := &zeros{}
			for i := range n {
				j := tapeapi.Work{Job: tapeapi.Job{JobKey: tapeapi.JobKey{File: hemera.FileID(i), Kind: tapeapi.Archive}, ArchiveID: uint64(i), Size: size}}
				z.jobs = append(z.jobs, j)
			}
			for b.Loop() {
				t := bottomless{Tape: &memtape.Tape{}, zero: []byte{0}}
				if err := volume.Format(b.Context(), t, volume.Label{VID: vid}, origin()); err != nil {
					b.Fatal(err)
				}
				v, err := volume.Open(b.Context(), t, vid, origin())
				if err != nil {
					b.Fatal(err)
				}
				s, err := session.Archive(b.Context(), session.ArchiveOptions{Volume: v, Jobs: z, Source: z, Journal: z, Common: session.Common{Now: time.Now}})
				if err != nil || s.Bytes != n*size {
					b.Fatal(s, err)
				}
			}
		})
	}
}
