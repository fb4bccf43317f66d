package catalogue

import (
	"context"
	"strings"

	"hemera/namespace/schema"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A content that no pool takes is held: its storage class is unknown or has no route, or files of its size are not taken. Its close does not
// fail, as its user can do nothing about it. Instead of a job for each copy it has one, which has failed, in a queue that is named after the
// class. So it is durable with the commit, counted and listed, and ends with the content, as any job does. [Catalogue.ReleaseHeld] queues it for its
// pools once they take it.

// What names of queues of held contents begin with. No pool has such a name, as "=" is in none.
const (
	heldByClass = "class="
	heldBySize  = "size="
)

// heldNameMax bounds the class in the name of a queue; names of classes that can be used are not longer. Attributes may have any text, and
// jobs are stored as JSON, so what is not UTF-8 is left out.
const heldNameMax = 100

// HeldBy returns the storage class of a queue of held contents, and whether their size keeps them. It is false of other queues.
func HeldBy(queue string) (class string, size, held bool) {
	if class, held = strings.CutPrefix(queue, heldByClass); held {
		return class, false, true
	}
	class, held = strings.CutPrefix(queue, heldBySize)
	return class, held, held
}

// isHeld reports whether a job holds a content.
func isHeld(j *tapeapi.Job) bool {
	_, _, held := HeldBy(j.Queue)
	return held && j.Failed
}

// whyHeld returns the reason with the remedy, as it is shown with the file.
func whyHeld(class string, err error) string {
	text := errs.Reason(err, class)
	if remedy := errs.RemedyOf(err); remedy != "" {
		text += " (" + remedy + ")"
	}
	return strings.ToValidUTF8(short(text), "")
}

// holding returns the job of a content that no pool takes. It has the number of the first copy: that one is missing, and
// is replaced when the copies are queued.
func holding(t Txn, e *hemera.Entry, class string, why error) tapeapi.Job {
	queue := heldByClass
	if errs.KindOf(why) == errs.TooLarge {
		queue = heldBySize
	}
	return tapeapi.Job{JobKey: tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: 1}, ArchiveID: e.ArchiveID(),
		Queue: queue + strings.ToValidUTF8(class[:min(len(class), heldNameMax)], ""), Size: e.Size, UID: e.UID, Asked: t.Now(), Failed: true, Error: whyHeld(class, why)}
}

// ReleaseHeld looks again at a page of a queue of held contents, behind a key, and queues those that a pool takes now. It returns how many,
// and where the next page begins: nil at the end.
func (c *Catalogue) ReleaseHeld(ctx context.Context, q Queue, after []byte) (released int, next []byte, err error) {
	rules := c.Settings()
	// Without a tape tier nothing can be released.
	if rules == nil {
		return 0, nil, nil
	}
	page, last, err := c.orders(ctx, q, after, writtenBatch)
	if err != nil || len(page) == 0 {
		return 0, nil, err
	}
	err = c.update(ctx, func(t Txn) error {
		released = 0 // it may run several times
		for _, o := range page {
			done, err := release(t, o, rules)
			if err != nil {
				return err
			}
			if done {
				released++
			}
		}
		return nil
	})
	// A page that is not full is the last one.
	if len(page) == writtenBatch {
		next = last
	}
	return released, next, err
}

// release queues a held content for its pools, and reports whether they take it. Else its job says why not, as it is now.
func release(t Txn, o schema.Order, rules *tapeconfig.Settings) (bool, error) {
	j, err := t.Job(o.Job)
	if err != nil || j == nil || !isHeld(j) {
		return false, err // it ended, or was queued, since the page was read
	}
	e, err := t.fileOf(j.File, j.ArchiveID)
	if err != nil {
		return false, err
	}
	if e == nil {
		return false, t.dequeue(j)
	}
	class := e.StorageClass()
	if _, why := rules.PoolsOf(class, e.Size); why != nil {
		still := holding(t, e, class, why)
		if still.Asked = j.Asked; still.Queue == j.Queue && still.Error == j.Error {
			return false, nil
		}
		// The next thing to do may be another one: the class is there, and has no route yet.
		if err := t.replaceJob(still); err != nil {
			return false, err
		}
		return false, t.noteError(&still)
	}
	if err := t.dequeue(j); err != nil {
		return false, err
	}
	t.PutEntry(attributed(e, map[string]string{hemera.AttrArchiveError: ""}))
	jobs, err := t.missing(e, rules)
	if err != nil {
		return false, err
	}
	return true, t.replaceJobs(jobs)
}
