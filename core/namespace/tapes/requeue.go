package tapes

import (
	"context"
	"slices"

	"hemera"
)

// What is done with all files of a tape is a job for each of them, queued and taken back in batches: a tape has
// millions of files, and other changes wait for a batch.

// Requeue queues jobs as they are: verifications and repacks that an admin asked for. Those that
// are queued already stay as they are.
func (c *Catalogue) Requeue(ctx context.Context, jobs []hemera.TapeJob) error {
	for chunk := range slices.Chunk(jobs, writtenBatch) {
		if err := c.update(ctx, func(t Txn) error {
			for _, j := range chunk {
				if e, err := t.fileOf(j.File, j.ArchiveID); err != nil || e == nil {
					if err != nil {
						return err
					}
					continue
				}
				if err := t.enqueue(j); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Dequeue removes the jobs that there are with these keys, unless their file lacks the copy: a copy that is asked
// for and not there keeps its job.
func (c *Catalogue) Dequeue(ctx context.Context, keys []hemera.TapeJobKey) (removed int, err error) {
	for chunk := range slices.Chunk(keys, writtenBatch) {
		var of int // of this change, which may run several times
		if err := c.update(ctx, func(t Txn) error {
			of = 0
			for _, k := range chunk {
				j, err := t.Job(k)
				if err != nil {
					return err
				}
				if j == nil {
					continue
				}
				e, err := t.fileOf(k.File, j.ArchiveID)
				if err != nil {
					return err
				}
				if e != nil && !slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == k.Copy }) {
					continue
				}
				if err := t.dequeue(j); err != nil {
					return err
				}
				of++
			}
			return nil
		}); err != nil {
			return removed, err
		}
		removed += of
	}
	return removed, nil
}

// AddCopies queues the copies that files lack by their class. It returns how many it queued. Copies that are queued already stay
// as they are, and files that are gone are passed over.
func (c *Catalogue) AddCopies(ctx context.Context, files []hemera.FileID) (queued int, err error) {
	routes := c.Routes()
	if routes == nil {
		return 0, nil
	}
	for chunk := range slices.Chunk(files, writtenBatch) {
		var of int // of this change, which may run several times
		if err := c.update(ctx, func(t Txn) error {
			of = 0
			for _, id := range chunk {
				e, err := t.ByID(id)
				if err != nil {
					return err
				}
				if e == nil || e.ArchiveID() == 0 {
					continue
				}
				n, err := t.addCopies(e, routes)
				if err != nil {
					return err
				}
				of += n
			}
			return nil
		}); err != nil {
			return queued, err
		}
		queued += of
	}
	return queued, nil
}

// addCopies queues the copies that one file lacks, and returns how many.
func (t Txn) addCopies(e *hemera.Entry, routes Routes) (queued int, err error) {
	jobs, err := t.missing(e, routes)
	if err != nil {
		return 0, err
	}
	for _, j := range jobs {
		now, err := t.Job(j.TapeJobKey)
		if err != nil {
			return 0, err
		}
		if now != nil {
			continue
		}
		if err := t.putJob(&j); err != nil {
			return 0, err
		}
		queued++
	}
	return queued, nil
}
