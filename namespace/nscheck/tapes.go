package nscheck

import (
	"slices"

	"hemera/namespace/schema"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// tapes compares the lists of tapes with the copies in entries, and the jobs with their queues.
// Each live row of a list is looked up; there are as many of them as copies in all entries, so
// there is no copy without one.
func (c *checker) tapes() error {
	// By VID; LastFSeq is the highest that was seen.
	live := map[hemera.VID]tapeapi.Tape{} // with the counts that were found
	rows := int64(0)
	err := c.keyed(schema.TableKey(schema.TableTapeFile), schema.TapeFileKeyBytes, func(k, raw []byte) error {
		f, err := schema.DecodeTapeFile(k, raw)
		if err != nil {
			c.problem("tape file %x: %v", k, err)
			return nil
		}
		// Of what was removed no entry is left to compare with.
		if f.Dead != nil {
			return nil
		}
		sum := live[f.VID]
		sum.Files, sum.Bytes, sum.LastFSeq = sum.Files+1, sum.Bytes+f.Size, max(sum.LastFSeq, f.FSeq)
		live[f.VID] = sum // memory by the number of tapes, not of files
		rows++
		// The lookup is two reads of the store, of tapes' files only.
		var header schema.EntryHeader
		if found, err := c.current(&header, f.File); err != nil || !found || !slices.Contains(header.Tape, f.TapeCopy) {
			c.problem("tape %s, fSeq %d: fid %s does not have this copy (%v)", f.VID, f.FSeq, f.File, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The other direction costs no lookup: equal numbers say it.
	if rows != c.found.copies {
		c.problem("%d copies on tape in entries, %d in the lists of tapes", c.found.copies, rows)
	}
	err = c.keyed(schema.TableKey(schema.TableTape), schema.TapeKeyBytes, func(k, raw []byte) error {
		t, err := schema.DecodeTape(k, raw)
		if err != nil {
			c.problem("tape %x: %v", k, err)
			return nil
		}
		// Beyond its last fSeq the tape may be written over.
		if is := live[t.VID]; is.Files != t.Files || is.Bytes != t.Bytes || is.LastFSeq > t.LastFSeq {
			c.problem("tape %s: stored %d files of %d bytes up to fSeq %d, counted %d of %d up to %d", t.VID, t.Files, t.Bytes, t.LastFSeq, is.Files, is.Bytes, is.LastFSeq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.jobs()
}

// jobs compares jobs with the order and the sums of their queues.
func (c *checker) jobs() error {
	// Memory by the number of queues, their users and mount policies.
	sums := map[string]schema.QueueSum{} // by the key of the queue
	err := c.keyed(schema.TableKey(schema.TableJob), schema.JobKeyBytes, func(k, raw []byte) error {
		j, err := schema.DecodeJob(k, raw)
		if err != nil {
			c.problem("job %x: %v", k, err)
			return nil
		}
		// The order's key follows from the job alone, so a job has one place.
		order := schema.OrderKey(j)
		there, err := c.view.GetMany(c.ctx, [][]byte{order})
		if err != nil {
			return err
		}
		if there[0] == nil {
			c.problem("job %x is not in the order of its queue", k)
		}
		// So does that of its sum, with its mount policy.
		queue := string(schema.SumKey(j))
		sum := sums[queue]
		sums[queue] = schema.QueueSum{Files: sum.Files + 1, Bytes: sum.Bytes + j.Size}
		return nil
	})
	if err != nil {
		return err
	}
	// Orders are keys alone, so they are only counted.
	ordered, jobs := int64(0), int64(0)
	for _, sum := range sums {
		jobs += sum.Files
	}
	if err := c.scan(schema.TableKey(schema.TableJobOrder), func([]byte, []byte) error { ordered++; return nil }); err != nil {
		return err
	}
	// Each job has its place, and there are as many places: so there is none without a job.
	if ordered != jobs {
		c.problem("%d jobs, %d in the orders of queues", jobs, ordered)
	}
	err = c.scan(schema.TableKey(schema.TableQueue), func(k, raw []byte) error {
		q, err := schema.DecodeQueueSum(k, raw)
		if err != nil || *q != sums[string(k)] {
			c.problem("queue %q: stored %+v, counted %+v (%v)", k[2:], q, sums[string(k)], err)
		}
		delete(sums, string(k)) // what is left at the end has no record
		return nil
	})
	// Queues with jobs and without a sum would never get a drive.
	for k := range sums {
		c.problem("queue %q: no stored sum", k[2:])
	}
	return err
}
