package tapes

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"hemera"
	"hemera/errs"
)

// requestsMax bounds the requests that may wait for one file: each is in its attribute.
const requestsMax = 64

// RecallRequest asks for a file to be on disk.
type RecallRequest struct {
	File     hemera.FileID
	Request  string // its id, in the file's attributes until the file is there; "" for one that nobody waits for by name
	UID      uint32 // who asked
	Activity string
	// Choose picks the copy to read.
	Choose func(e *hemera.Entry) (hemera.TapeCopy, error)
}

// Recall queues a recall of the file, unless there is one, and notes the request. A file that is on
// disk is kept there until the request releases it: its evict counter grows. It returns the entry
// then. NotFound; Overloaded when too many requests wait for the file.
func (c *Catalogue) Recall(ctx context.Context, r RecallRequest) (out hemera.Entry, err error) {
	err = c.update(ctx, func(t Txn) error {
		e, err := t.ByID(r.File)
		if err != nil {
			return err
		}
		if e == nil || e.IsDir() {
			return refuse(errs.NotFound, "Recall", "fid:"+r.File.String(), "no such file")
		}
		// On disk already. Only a file that could be evicted, now or when it is archived, needs the count that keeps it there.
		if !e.Evicted() {
			if r.Request != "" && e.ArchiveID() != 0 {
				e = counted(e, 1)
				t.PutEntry(e)
			}
			out = *e
			return nil
		}
		if e, err = requested(e, r.Request, strconv.FormatInt(t.Now().Unix(), 10)); err != nil {
			return err
		}
		t.PutEntry(e)
		out = *e
		return t.queueRecall(e, r)
	})
	return out, err
}

// requested is the entry with one request more.
func requested(e *hemera.Entry, request, now string) (*hemera.Entry, error) {
	ids := RequestsOf(e)
	// A client may send the same request twice.
	if request != "" && !slices.Contains(ids, request) {
		if len(ids) >= requestsMax {
			return nil, refuse(errs.Overloaded, "Recall", "fid:"+e.ID.String(), "too many requests wait for the file")
		}
		ids = append(ids, request)
	}
	// A new request is a new chance, whatever failed before.
	set := map[string]string{hemera.AttrRecallIDs: strings.Join(ids, ","), hemera.AttrRecallError: ""}
	if e.Xattrs[hemera.AttrRecallTime] == nil {
		set[hemera.AttrRecallTime] = now
	}
	return attributed(e, set), nil
}

// queueRecall queues the job, unless there is one for any copy. One that had failed begins again.
func (t Txn) queueRecall(e *hemera.Entry, r RecallRequest) error {
	for number := range uint8(hemera.TapeCopiesMax) {
		j, err := t.Job(hemera.TapeJobKey{File: e.ID, Kind: hemera.TapeRecall, Copy: number + 1})
		if err != nil || j != nil && !j.Failed {
			return err
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
	return t.enqueue(hemera.TapeJob{TapeJobKey: hemera.TapeJobKey{File: e.ID, Kind: hemera.TapeRecall, Copy: from.Number}, ArchiveID: e.ArchiveID(),
		Queue: from.VID, Size: e.Size, UID: r.UID, Asked: t.Now(), Activity: r.Activity, From: &from})
}

// Withdraw takes a request back. When it was the last one, what is not being read yet is not
// recalled.
func (c *Catalogue) Withdraw(ctx context.Context, file hemera.FileID, request string) error {
	return c.update(ctx, func(t Txn) error {
		e, err := t.ByID(file)
		if err != nil || e == nil {
			return err
		}
		ids := RequestsOf(e)
		// Not there: it was fulfilled, or withdrawn before.
		at := slices.Index(ids, request)
		if at < 0 {
			return nil
		}
		ids = slices.Delete(ids, at, at+1)
		set := map[string]string{hemera.AttrRecallIDs: strings.Join(ids, ",")}
		// A session that is reading the file already goes on, and finds its job gone when it asks to
		// commit.
		if len(ids) == 0 {
			set[hemera.AttrRecallTime], set[hemera.AttrRecallError] = "", ""
			if err := t.dequeueAll(file, hemera.TapeRecall); err != nil {
				return err
			}
		}
		t.PutEntry(attributed(e, set))
		return nil
	})
}

// GiveUpRecall tells those who wait for a file why it does not come to disk. Without a job and for a file on tape only; others stay as
// they are.
func (c *Catalogue) GiveUpRecall(ctx context.Context, file hemera.FileID, why string) error {
	return c.update(ctx, func(t Txn) error {
		e, err := t.ByID(file)
		if err != nil || e == nil || !e.Evicted() || e.Xattrs[hemera.AttrRecallTime] == nil {
			return err
		}
		for number := range uint8(hemera.TapeCopiesMax) {
			// Somebody asked again meanwhile.
			if j, err := t.Job(hemera.TapeJobKey{File: file, Kind: hemera.TapeRecall, Copy: number + 1}); err != nil || j != nil {
				return err
			}
		}
		t.PutEntry(attributed(e, map[string]string{hemera.AttrRecallIDs: "", hemera.AttrRecallTime: "", hemera.AttrRecallError: short(why)}))
		return nil
	})
}

// Arrived is called when an evicted file gets its disk copies again, before its entry is stored:
// its requests are fulfilled, and each of them keeps it on disk until it is released.
func (t Txn) Arrived(e *hemera.Entry) error {
	// Recalls that nobody waits for by name (an open, a repack) keep nothing on disk: such a file is
	// evicted by its age, or when room is needed.
	counter := ""
	if n := len(RequestsOf(e)); n > 0 {
		counter = strconv.Itoa(n)
	}
	*e = *attributed(e, map[string]string{hemera.AttrRecallIDs: "", hemera.AttrRecallTime: "", hemera.AttrRecallError: "",
		hemera.AttrEvictCounter: counter})
	return t.dequeueAll(e.ID, hemera.TapeRecall)
}

// Release takes one from the file's evict counter, and returns the entry with what is left.
func (c *Catalogue) Release(ctx context.Context, file hemera.FileID) (out hemera.Entry, err error) {
	err = c.update(ctx, func(t Txn) error {
		e, err := t.ByID(file)
		if err != nil || e == nil {
			return refuse(errs.NotFound, "Release", "fid:"+file.String(), "no such file")
		}
		if EvictCounter(e) > 0 {
			e = counted(e, -1)
			t.PutEntry(e)
		}
		out = *e
		return nil
	})
	return out, err
}

// counted is the entry with another evict counter.
func counted(e *hemera.Entry, by int) *hemera.Entry {
	left, text := max(0, EvictCounter(e)+by), ""
	if left > 0 {
		text = strconv.Itoa(left)
	}
	return attributed(e, map[string]string{hemera.AttrEvictCounter: text})
}

// RequestsOf lists the requests that wait for a file.
func RequestsOf(e *hemera.Entry) []string {
	text := string(e.Xattrs[hemera.AttrRecallIDs])
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// EvictCounter is how many requests still use the disk copies of a file.
func EvictCounter(e *hemera.Entry) int {
	n, _ := strconv.Atoi(string(e.Xattrs[hemera.AttrEvictCounter]))
	return max(0, n)
}
