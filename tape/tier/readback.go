package tier

import (
	"context"
	"fmt"
	"math"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// What a session wrote is read back before disk copies go that count on it. A
// tape knows the first of its files that was not read back. As long as there
// is one, the tape gets a mount of its own, which reads from there to the end, or the
// first files of that. It is a verification without jobs in a queue: what is to be read follows from
// the list of the tape.
//
// To read means to go back, which takes a drive a minute, and another one to go on
// behind the end. So it is done once, when a session has ended and the tape is still in the drive.
// A tape that left its drive before is read by a drive that has nothing else to do.
//
// A file that cannot be read back loses this copy and is archived again, and the tape
// is put aside: what follows on it would fare no better.

// readingBack is the progress of a mount that reads back. The lock of mounts guards it.
type readingBack struct {
	next  uint64 // fSeq from where on files are to be given
	given int64  // files, of most
	most  int64
	all   bool   // nothing more is to be given
	stuck uint64 // the first file that could not be read, though its copy may be good; 0: none
}

// readBackPause is after what time a tape is read back again if that did not
// reach its end.
const readBackPause = 5 * time.Minute

// backState returns the place from which on a mount is given files, the number that it may still get, and whether nothing
// more is to be given.
func (ms *mounts) backState(m *mount) (next uint64, left int64, all bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return m.back.next, m.back.most - m.back.given, m.back.all
}

// giveBack gives a mount files to read back, and notes the state after them. A mount that has ended gets none.
func (ms *mounts) giveBack(m *mount, jobs []tapeapi.Work, next uint64, left int64, all bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.all[m.id] != m {
		return
	}
	for _, w := range jobs {
		ms.give(m, w.Job)
	}
	m.back.next, m.back.given, m.back.all = next, m.back.most-left, all
}

// stuck notes a file that a mount could not read, though its copy may be good.
func (ms *mounts) stuck(m *mount, fseq uint64) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.back.stuck == 0 || fseq < m.back.stuck {
		m.back.stuck = fseq
	}
}

// readLater has a tape read back again after a pause.
func (ms *mounts) readLater(vid hemera.VID) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	ms.unread[vid] = ms.clock().Add(readBackPause)
}

// readUpTo returns the place from which on files of a mount's tape wait to be read back, when those of over are: the
// largest number if none waits.
func (ms *mounts) readUpTo(m *mount, over map[tapeapi.JobKey]bool) uint64 {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	to := m.back.next
	if m.back.all {
		to = math.MaxUint64
	}
	if m.back.stuck > 0 {
		to = min(to, m.back.stuck)
	}
	for k, j := range m.given {
		if !over[k] && j.From != nil {
			to = min(to, j.From.FSeq)
		}
	}
	return to
}

// readBackJobs gives a mount the next files to read back. Files that changed since, or that are on tape only, are passed over.
func (t *giver) readBackJobs(ctx context.Context, m *mount, want tapeapi.JobsRequest) (reply tapeapi.JobsReply, err error) {
	next, left, all := t.mounts.backState(m)
	for !all && len(reply.Jobs) == 0 {
		rows, err := t.env.catalogue.Files(ctx, m.vid, next-1, want.Files, false)
		if err != nil {
			return reply, err
		}
		all = len(rows) < want.Files
		for i, row := range rows {
			// Members of a container are read together.
			if begins := i == 0 || rows[i-1].FSeq != row.FSeq; begins && want.Bytes <= 0 && len(reply.Jobs) > 0 {
				all = false
				break
			}
			if next = row.FSeq + 1; left == 0 {
				all = true
				break
			}
			w, err := t.env.work(ctx, tapeapi.Job{JobKey: tapeapi.JobKey{File: row.File, Kind: tapeapi.Verify, Copy: row.Number},
				ArchiveID: row.ArchiveID, Queue: string(m.vid), Size: row.Size, From: &row.TapeCopy, Asked: t.env.now()})
			switch kind := errs.KindOf(err); {
			case err != nil && kind != errs.Conflict && kind != errs.NotFound:
				return reply, err
			case err == nil && w.onDisk:
				reply.Jobs = append(reply.Jobs, w.Work)
				left, want.Bytes = left-1, want.Bytes-row.Size
			}
		}
	}
	t.mounts.giveBack(m, reply.Jobs, next, left, all)
	reply.Last = all && len(reply.Jobs) == 0
	return reply, nil
}

// readBack takes what a mount says of files that it read back, before its jobs are free again. It may be called again with the same.
func (t *recorder) readBack(ctx context.Context, m *mount, r tapeapi.Results) error {
	if m == nil || m.back == nil {
		return nil
	}
	for _, f := range r.Failed {
		j, given := t.mounts.job(m, f.Job)
		if !given || j.From == nil {
			continue
		}
		if !f.Copy {
			t.mounts.stuck(m, j.From.FSeq)
			continue
		}
		if err := t.notReadable(ctx, m, j, f.Error); err != nil {
			return err
		}
	}
	from, to := t.readUpTo(ctx, m, r)
	if to > from {
		if err := t.disks.countAsRead(ctx, m.vid, to); err != nil {
			return err
		}
	}
	// If an earlier report has said that nothing waits any more, the tape is through.
	if r.Ended && from > 0 && to < math.MaxUint64 {
		t.mounts.readLater(m.vid)
	}
	return nil
}

// readUpTo returns from where on files of the tape of a mount waited to be read back, and from where on they do: the largest number for none.
func (t *recorder) readUpTo(ctx context.Context, m *mount, r tapeapi.Results) (from, to uint64) {
	known, err := t.env.knownTapes(ctx)
	if err != nil || known[m.vid].UnreadFSeq == 0 {
		return 0, 0
	}
	over := map[tapeapi.JobKey]bool{}
	for _, k := range r.Done {
		over[k] = true
	}
	for _, f := range r.Failed {
		over[f.Job] = true // counted in stuck, or taken care of
	}
	return known[m.vid].UnreadFSeq, t.mounts.readUpTo(m, over)
}

// notReadable records that a copy could not be read back: its file is archived again, and the tape put aside.
func (t *recorder) notReadable(ctx context.Context, m *mount, j tapeapi.Job, text string) error {
	why := fmt.Sprintf("file %d of tape %s was written and could not be read back in drive %s: %s", j.From.FSeq, m.vid, m.drive, text)
	dropped, err := t.env.catalogue.DropCopy(ctx, tapeapi.File{TapeCopy: *j.From, File: j.File, ArchiveID: j.ArchiveID}, why)
	if err != nil || !dropped {
		return err
	}
	t.env.Log.Error("a file could not be read back from tape, and is archived again; the tape is disabled", "vid", m.vid, "file", j.File, "error", text)
	return t.env.catalogue.ChangeTape(ctx, m.vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		if old == nil {
			return nil, errs.New(errs.NotFound, "tier.ReadBack", string(m.vid), "the tape is not in the catalogue")
		}
		tape := *old
		putAside(&tape, why, tapeapi.Unreadable)
		tape.Changed, tape.ChangedBy = t.env.now(), hemera.SystemIdentity().Name
		return &tape, nil
	})
}
