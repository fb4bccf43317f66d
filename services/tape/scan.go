package tape

import (
	"context"

	"hemera"
	"hemera/core/tape/volume"
)

// scanBatch is how many records go into one report: far below what a message may have.
const scanBatch = 10_000

// scan reports which files are on the tape, the last one first.
func (k desk) scan(ctx context.Context, v *volume.Volume) error {
	// Reports are durable one by one: a scan that fails in the middle has told of the newest files.
	var batch []hemera.TapeScanned
	send := func() error {
		err := k.done(ctx, hemera.TapeResults{Scanned: batch})
		batch = batch[:0]
		return err
	}
	err := v.Scan(ctx, volume.ScanOptions{}, func(r volume.Record) error {
		// Indexes, containers themselves and dead files are of no file.
		if r.Kind != volume.KindFile && r.Kind != volume.KindMember {
			return nil
		}
		if batch = append(batch, scanned(r)); len(batch) < scanBatch {
			return nil
		}
		return send()
	})
	if err != nil {
		return err
	}
	return send()
}

// scanned is a record as the manager knows it.
func scanned(r volume.Record) hemera.TapeScanned {
	s := hemera.TapeScanned{
		Written: hemera.TapeWritten{ArchiveID: r.ArchiveID, FSeq: r.FSeq, Block: r.Block, Member: r.Member, Size: r.Size},
		File:    r.File, Path: r.Path, Sums: r.Sums, Owner: hemera.FileOwner{UID: r.UID, GID: r.GID, Mode: r.Mode}, Mtime: r.Mtime, Class: r.Class, Copy: r.Copy,
	}
	// The catalogue compares this one with what a recall reads.
	for _, sum := range r.Sums {
		if sum.Kind == hemera.Adler32 {
			s.Written.Sum = sum
		}
	}
	return s
}
