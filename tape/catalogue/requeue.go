package catalogue

import (
	"context"
	"slices"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// What is done with all files of a tape is a job for each of them, queued and taken back in batches: a tape has
// millions of files, and other changes wait for a batch.
//
// A list of files is read before the batch that changes something. Files that were removed, replaced or moved in
// between are looked at again in the transaction, and passed over. Each batch is durable by itself: a call that ends
// with an error has done the batches before, and may be made again.

// Requeue queues jobs as they are: verifications and repacks that an admin asked for. Those that
// are queued already stay as they are.
func (c *Catalogue) Requeue(ctx context.Context, jobs []tapeapi.Job) error {
	// As many as one report of a session records: so a batch of either kind takes about as long.
	for chunk := range slices.Chunk(jobs, writtenBatch) {
		if err := c.update(ctx, func(t Txn) error {
			for _, j := range chunk {
				// A file that was replaced since is not on the tape any more.
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
func (c *Catalogue) Dequeue(ctx context.Context, keys []tapeapi.JobKey) (removed int, err error) {
	for chunk := range slices.Chunk(keys, writtenBatch) {
		var of int // removed by this change, which may run several times and counts from zero each time
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
				// Whether this job makes a first copy or another one is not in the job.
				e, err := t.fileOf(k.File, j.ArchiveID)
				if err != nil {
					return err
				}
				// Of a file that is gone no job is left behind.
				if e != nil && !slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == k.Copy }) {
					continue
				}
				// A session that has it finishes it, and its copy is recorded all the same.
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

// AddCopies queues the copies that files lack by their class. It returns how many it queued, and how many files it left as
// no pool takes them. Copies that are queued already stay as they are, and files that are gone are passed over.
func (c *Catalogue) AddCopies(ctx context.Context, files []hemera.FileID) (queued, left int, err error) {
	rules := c.Settings()
	// Without a tape tier no class has copies.
	if rules == nil {
		return 0, 0, nil
	}
	// One set of rules for all: a change of the configuration meanwhile is for the next call.
	for chunk := range slices.Chunk(files, writtenBatch) {
		var of, without int // queued and left by this change, counted from zero each time it runs
		if err := c.update(ctx, func(t Txn) error {
			of, without = 0, 0
			for _, id := range chunk {
				e, err := t.ByID(id)
				if err != nil {
					return err
				}
				// The list of a tape is older than this transaction.
				if e == nil || e.ArchiveID() == 0 {
					continue
				}
				// The class is gone, or has a copy without a route: it says nothing of the other files.
				jobs, err := t.missing(e, rules)
				if err != nil {
					without++
					continue
				}
				n, err := addCopies(t, jobs)
				if err != nil {
					return err
				}
				of += n
			}
			return nil
		}); err != nil {
			return queued, left, err
		}
		queued, left = queued+of, left+without
	}
	return queued, left, nil
}

// addCopies queues the copies that one file lacks, and returns how many. Copies that failed for good count as queued: they
// wait for a person.
func addCopies(t Txn, jobs []tapeapi.Job) (queued int, err error) {
	for _, j := range jobs {
		now, err := t.Job(j.JobKey)
		if err != nil {
			return 0, err
		}
		// One that waits has its attempts and its error, which are kept; one that is held has the number, and is
		// for no pool.
		if now != nil && !isHeld(now) {
			continue
		}
		if err := t.replaceJob(j); err != nil {
			return 0, err
		}
		queued++
	}
	return queued, nil
}
