package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// AuditSoon is how long after an unclean start of the manager or a node, or the return of a disk, its
// disks are audited: whatever was being written then is over, and old enough to judge.
const AuditSoon = hemera.UnsealedLifetime + time.Minute

// surveyor records when disks were looked at as a whole, and when backups were taken.
type Surveys struct {
	state *state
	noted []hemera.NodeDisk // reported, not stored yet; guarded by mu
}

// surveyRecord is when a disk was last looked at as a whole, and when it is to be.
type surveyRecord struct {
	Disk hemera.DiskID
	hemera.DiskSurvey
}

func (r surveyRecord) key() string { return fmt.Sprintf("survey/%08x", uint32(r.Disk)) }

// runningRecord is there while a manager runs, and after one that did not end in good order.
type runningRecord struct{}

func (runningRecord) key() string { return "running" }

// backupRecord is when the last backup was taken, and since when that is remembered.
type backupRecord struct {
	Last  time.Time // zero: none
	Since time.Time
}

func (backupRecord) key() string { return "backup" }

// Backups is when the last backup was taken, zero for none, and since when the cluster remembers that.
func (c *Surveys) Backups() (last, since time.Time) {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return c.state.backup.Last, c.state.backup.Since
}

// BackupTaken makes durable that there is a backup of that moment. An older one than is known changes nothing.
func (c *Surveys) BackupTaken(ctx context.Context, at time.Time) error {
	err := c.state.update(ctx, func(ch *change) error {
		// Two backups may end in the other order than they began.
		if at.After(c.state.backup.Last) {
			ch.put(backupRecord{Last: at, Since: c.state.backup.Since})
		}
		return nil
	}, func() {})
	return errs.Wrap(err, "cluster.BackupTaken", "")
}

// Survey is when the disk was last audited and scrubbed, and when it is to be; the zero survey when
// nothing is known.
func (c *Surveys) Survey(id hemera.DiskID) hemera.DiskSurvey {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return c.state.surveys[id].DiskSurvey
}

// SetAudit makes durable when a disk was audited and when it is to be, as s says; of scrubs and changes it
// changes nothing. A disk that is not of the cluster any more is none.
func (c *Surveys) SetAudit(ctx context.Context, id hemera.DiskID, s hemera.DiskSurvey) error {
	err := c.state.update(ctx, func(ch *change) error {
		// A disk that was removed and forgotten while its audit went on gets no record.
		if c.state.disks[id] != nil {
			was := c.state.surveys[id]
			s.LastScrub, s.Changes, s.Older = was.LastScrub, was.Changes, was.Older
			ch.put(surveyRecord{id, s})
		}
		return nil
	}, c.state.publishSoon)
	return errs.Wrap(err, "cluster.SetAudit", "disk "+id.String())
}

// hasten puts into ch that the disks are audited soon. c.mu is held.
func (c *Surveys) hasten(ch *change, disks map[hemera.DiskID]*disk) {
	soon := c.state.now().Add(AuditSoon)
	for id := range disks {
		r := c.pending(ch, id)
		if r.AuditDue.IsZero() || r.AuditDue.After(soon) {
			r.AuditDue = soon
			ch.put(r)
		}
	}
}

// pending is the survey of a disk as ch leaves it. c.mu is held.
func (c *Surveys) pending(ch *change, id hemera.DiskID) surveyRecord {
	for _, r := range slices.Backward(ch.puts) {
		if s, ok := r.(surveyRecord); ok && s.Disk == id {
			return s
		}
	}
	return surveyRecord{id, c.state.surveys[id].DiskSurvey}
}

// reported puts into ch what the node that has a disk says of it as it registers: when a scrub ended, and how far the disk's changes are. A disk
// whose changes are fewer than they were is an older copy. A namespace that went back knows a lower number than the disk has, which is no fault. c.mu is held.
func (c *Surveys) reported(ch *change, id hemera.DiskID, d hemera.NodeDisk) {
	r := c.pending(ch, id)
	was := r
	if d.LastScrub.After(r.LastScrub) {
		r.LastScrub = d.LastScrub
	}
	switch {
	case d.Health == hemera.HealthGone, r.Older: // nothing is known of what is there; the number of an older copy grows, too
	case d.Changes < r.Changes:
		r.Older, r.AuditDue = true, c.state.now()
		c.state.log.Error("a disk came back as an older copy of itself: it takes no new pieces until it was compared with the namespace", "disk", id,
			"path", text(d.Path), "changes", d.Changes, "known", r.Changes, "remedy", "put the newest copy there if there is one; else `hemera fsck repair`")
	default:
		r.Changes = d.Changes
	}
	if r != was {
		ch.put(r)
	}
}

// started notes that a manager runs. After one that did not end in good order every disk is audited soon.
// c.mu is held.
func (c *Surveys) started(ch *change) {
	if c.state.running {
		c.state.log.Info("the manager did not end in good order: disks will be audited", "in", AuditSoon)
		c.hasten(ch, c.state.disks)
	}
	// Durable before the manager serves: it is there after a crash, whatever happens.
	ch.put(runningRecord{})
	if c.state.backup.Since.IsZero() {
		ch.put(backupRecord{Last: c.state.backup.Last, Since: c.state.now()})
	}
}

// Stopped notes that the manager ends in good order. Nothing may be changed afterwards.
func (c *Surveys) Stopped(ctx context.Context) error {
	return c.state.update(ctx, func(ch *change) error {
		ch.delete(runningRecord{})
		return nil
	}, func() {})
}

// note has the next Tick store what the node says of scrubs that ended on its disks, and of their changes. c.mu is held.
func (c *Surveys) note(on hemera.NodeID, reports []hemera.NodeDisk) {
	for _, d := range reports {
		known := c.state.byUUID[d.UUID]
		if known == nil || known.Node != on {
			continue
		}
		if s := c.state.surveys[known.ID]; d.LastScrub.After(s.LastScrub) || d.Changes > s.Changes && !s.Older {
			// Only what is needed: a report with its histograms is large.
			c.noted = append(c.noted, hemera.NodeDisk{UUID: d.UUID, LastScrub: d.LastScrub, Changes: d.Changes})
		}
	}
}

// storeNoted stores what note found. A disk may have come back as an older copy since then: numbers only grow here.
func (c *Surveys) storeNoted(ctx context.Context) error {
	return c.state.update(ctx, func(ch *change) error {
		for _, d := range c.noted {
			known := c.state.byUUID[d.UUID]
			if known == nil {
				continue
			}
			d.Changes = max(d.Changes, c.state.surveys[known.ID].Changes)
			c.reported(ch, known.ID, d)
		}
		c.noted = nil
		return nil
	}, func() {})
}

// Whole makes durable that an audit found on a disk that came back as an older copy all that the namespace has there: it is used
// like others from now on.
func (c *Surveys) Whole(ctx context.Context, id hemera.DiskID) error {
	err := c.state.update(ctx, func(ch *change) error {
		if d := c.state.disks[id]; d != nil && c.state.surveys[id].Older {
			r := surveyRecord{id, c.state.surveys[id].DiskSurvey}
			r.Older, r.Changes = false, d.report.Changes
			ch.put(r)
		}
		return nil
	}, c.state.publishSoon)
	return errs.Wrap(err, "cluster.Whole", "disk "+id.String())
}
