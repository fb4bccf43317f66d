package catalogue

import (
	"context"
	"slices"
	"strconv"
	"time"

	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// RecallRequest asks for a file to be on disk.
type RecallRequest struct {
	File     hemera.FileID
	Request  string // its id, in the file's attributes until the file is there; "" for one that nobody waits for by name
	UID      uint32 // who asked
	Groups   []uint32
	Activity string
	// Choose picks the copy to read.
	Choose func(e *hemera.Entry) (hemera.TapeCopy, error)
	// Sooner reports whether a mount policy goes before that of a job which waits; nil: the job keeps its own.
	Sooner func(policy string, waits *tapeapi.Job) bool
}

// Recall queues a recall of the file, unless there is one, and notes the request. A file that is on
// disk is kept there until the request releases it: its evict counter grows. It returns the entry
// then. The same request again changes nothing. NotFound; Overloaded when too many requests want the file.
func (c *Catalogue) Recall(ctx context.Context, r RecallRequest) (out hemera.Entry, err error) {
	err = c.update(ctx, func(t Txn) error {
		e, err := t.ByID(r.File)
		if err != nil {
			return err
		}
		if e == nil || e.IsDir() {
			return refuse(errs.NotFound, "Recall", "fid:"+r.File.String(), "no such file")
		}
		out = *e
		pins, err := withPin(e, r)
		if err != nil {
			return err
		}
		// On disk already. Only a file that could be evicted, now or once it is archived, needs the pin
		// that keeps it there.
		if !e.Evicted() {
			if r.Request != "" && e.ArchiveID() != 0 {
				set := pinned(pins, nil)
				set[hemera.AttrReleased] = ""
				e = attributed(e, set)
				t.PutEntry(e)
				out = *e
			}
			return nil
		}
		e = requested(e, pins, r.Request, strconv.FormatInt(t.Now().Unix(), 10))
		t.PutEntry(e)
		out = *e
		return t.queueRecall(e, r, c.Settings())
	})
	return out, err
}

// requested returns the entry with a request that waits for it.
func requested(e *hemera.Entry, pins []Pin, request, now string) *hemera.Entry {
	waiting := RequestsOf(e)
	if request != "" && !slices.Contains(waiting, request) {
		waiting = append(waiting, request)
	}
	set := pinned(pins, waiting)
	// A new request is a new chance, whatever failed before.
	set[hemera.AttrRecallError] = ""
	if e.Xattrs[hemera.AttrRecallTime] == nil {
		set[hemera.AttrRecallTime] = now
	}
	return attributed(e, set)
}

// queueRecall queues the job, unless there is one for any copy: that one gets the mount policy of the request if that goes sooner. One that
// had failed begins again.
func (t Txn) queueRecall(e *hemera.Entry, r RecallRequest, rules *tapeconfig.Settings) error {
	policy := rules.PolicyOf(tapeconfig.Requester{Recall: true, UID: r.UID, Groups: r.Groups, Activity: r.Activity})
	for number := range uint8(hemera.TapeCopiesMax) {
		j, err := t.Job(tapeapi.JobKey{File: e.ID, Kind: tapeapi.Recall, Copy: number + 1})
		if err != nil {
			return err
		}
		if j != nil && !j.Failed {
			return t.hurry(j, r, policy)
		}
		if j != nil {
			if err := t.dequeue(j); err != nil {
				return err
			}
		}
	}
	// Within the transaction: the copies may have changed since anybody looked.
	from, err := r.Choose(e)
	if err != nil {
		return err
	}
	return t.enqueue(tapeapi.Job{JobKey: tapeapi.JobKey{File: e.ID, Kind: tapeapi.Recall, Copy: from.Number}, ArchiveID: e.ArchiveID(),
		Queue: string(from.VID), Size: e.Size, UID: r.UID, Asked: t.Now(), Activity: r.Activity, From: &from,
		Policy: policy})
}

// hurry gives a job that waits the mount policy of another request for its file, if that goes sooner. Its place by time stays.
func (t Txn) hurry(was *tapeapi.Job, r RecallRequest, policy string) error {
	if r.Sooner == nil || policy == was.Policy || !r.Sooner(policy, was) {
		return nil
	}
	return t.requeue(was, func(j *tapeapi.Job) { j.Policy, j.Activity = policy, r.Activity })
}

// requeue changes a job that waits. It is taken out and put in again: its place in the order may be another one afterwards.
func (t Txn) requeue(was *tapeapi.Job, change func(*tapeapi.Job)) error {
	if err := t.dequeue(was); err != nil {
		return err
	}
	j := *was
	change(&j)
	return t.putJob(&j)
}

// FailRecall tells those who wait for a file why it does not come to disk. Without a job and for a file on tape only; others stay as
// they are.
func (c *Catalogue) FailRecall(ctx context.Context, file hemera.FileID, why string) error {
	return c.update(ctx, func(t Txn) error {
		e, err := t.ByID(file)
		if err != nil || e == nil || !e.Evicted() || e.Xattrs[hemera.AttrRecallTime] == nil {
			return err
		}
		for number := range uint8(hemera.TapeCopiesMax) {
			// Somebody asked again meanwhile.
			if j, err := t.Job(tapeapi.JobKey{File: file, Kind: tapeapi.Recall, Copy: number + 1}); err != nil || j != nil {
				return err
			}
		}
		// Nobody has a file that is on tape only: all pins are of those who wait.
		set := pinned(nil, nil)
		set[hemera.AttrRecallTime], set[hemera.AttrRecallError] = "", short(why)
		t.PutEntry(attributed(e, set))
		return nil
	})
}

// Arrived records that an evicted file gets its disk copies again, before its entry is stored: its requests are
// fulfilled, and each of them keeps it on disk until it is released.
func (t Txn) Arrived(e *hemera.Entry) error {
	// Recalls that nobody waits for by name (an open, a repack) keep nothing on disk: such a file is
	// evicted by its age, or when room is needed.
	set := pinned(PinsOf(e), nil)
	set[hemera.AttrRecallTime], set[hemera.AttrRecallError] = "", ""
	*e = *attributed(e, set)
	if err := t.dequeueAll(e.ID, tapeapi.Recall); err != nil {
		return err
	}
	return t.hasten(e.ID)
}

// hasten has the archive jobs of a file done now that were put off until it is on disk. Those that failed keep their pause.
func (t Txn) hasten(file hemera.FileID) error {
	for number := range uint8(hemera.TapeCopiesMax) {
		was, err := t.Job(tapeapi.JobKey{File: file, Kind: tapeapi.Archive, Copy: number + 1})
		if err != nil {
			return err
		}
		if was == nil || was.Failed || was.Waits == "" {
			continue
		}
		if err := t.requeue(was, func(j *tapeapi.Job) { j.After, j.Waits = time.Time{}, "" }); err != nil {
			return err
		}
	}
	return nil
}

// Evicted records that a file loses its disk copies, before its entry is stored: its pins have nothing to keep any more.
func (t Txn) Evicted(e *hemera.Entry) {
	if e.Xattrs[hemera.AttrRecallPins] != nil || e.Xattrs[hemera.AttrReleased] != nil || EvictCounter(e) > 0 {
		none := pinned(nil, nil)
		none[hemera.AttrReleased] = ""
		*e = *attributed(e, none)
	}
}
