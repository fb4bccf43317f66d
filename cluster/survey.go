package cluster

import (
	"context"
	"slices"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// AuditSoon is the time from an unclean start of the manager or a node, or the return of a disk, to the audit of its
// disks: whatever was being written then is over, and old enough to judge.
const AuditSoon = hemera.UnsealedLifetime + time.Minute

// Surveys records when disks were looked at as a whole, and when backups were taken.
type Surveys struct {
	journal *journal
	table   *surveyTable
	roster  *roster
	views   *viewer
	noted   []hemera.NodeDisk // reported, not stored yet; guarded by mu
}

// Backups returns the time of the last backup, zero for none, and the time since which the cluster remembers that.
func (c *Surveys) Backups() (last, since time.Time) {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	return c.table.backup.Last, c.table.backup.Since
}

// BackupTaken makes durable that there is a backup of that moment. An older one than is known changes nothing.
func (c *Surveys) BackupTaken(ctx context.Context, at time.Time) error {
	err := c.journal.update(ctx, func(ch *change) error {
		// Two backups may end in the other order than they began.
		if at.After(c.table.backup.Last) {
			ch.put(backupRecord{Last: at, Since: c.table.backup.Since})
		}
		return nil
	}, nil)
	return errs.Wrap(err, "cluster.BackupTaken", "")
}

// Survey returns the times at which the disk was last audited and scrubbed, and is to be; the zero survey when nothing is
// known.
func (c *Surveys) Survey(id hemera.DiskID) hemera.DiskSurvey {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	return c.table.disks[id].survey()
}

// SetAudit makes durable when a disk was audited and when it is to be, as s says; of scrubs and changes it
// changes nothing. A disk that is not of the cluster any more is none.
func (c *Surveys) SetAudit(ctx context.Context, id hemera.DiskID, s hemera.DiskSurvey) error {
	err := c.journal.update(ctx, func(ch *change) error {
		// A disk that was removed and forgotten while its audit went on gets no record.
		if c.roster.disks.all[id] != nil {
			was := c.table.disks[id]
			s.LastScrub, s.Changes, s.Older = was.LastScrub, was.Changes, was.Older
			ch.put(surveyOf(id, s))
		}
		return nil
	}, c.views.publishSoon)
	return errs.Wrap(err, "cluster.SetAudit", "disk "+id.String())
}

// hasten puts into ch that the disks are audited soon. mu is held.
func (c *Surveys) hasten(ch *change, disks map[hemera.DiskID]*disk) {
	soon := c.journal.now().Add(AuditSoon)
	for id := range disks {
		r := c.pending(ch, id)
		if r.AuditDue.IsZero() || r.AuditDue.After(soon) {
			r.AuditDue = soon
			ch.put(r)
		}
	}
}

// pending returns the survey of a disk as ch leaves it. mu is held.
func (c *Surveys) pending(ch *change, id hemera.DiskID) surveyRecord {
	for _, r := range slices.Backward(ch.puts) {
		if s, ok := r.(surveyRecord); ok && s.Disk == id {
			return s
		}
	}
	return surveyOf(id, c.table.disks[id].survey())
}

// reported puts into ch what the node that has a disk says of it as it registers: when a scrub ended, and how far the disk's changes are. A disk
// whose changes are fewer than they were is an older copy. A namespace that went back knows a lower number than the disk has, which is no fault. mu is held.
func (c *Surveys) reported(ch *change, id hemera.DiskID, d hemera.NodeDisk) {
	r := c.pending(ch, id)
	was := r
	if d.LastScrub.After(r.LastScrub) {
		r.LastScrub = d.LastScrub
	}
	switch {
	case d.Health == hemera.HealthGone, r.Older: // nothing is known of what is there; the number of an older copy grows, too
	case d.Changes < r.Changes:
		r.Older, r.AuditDue = true, c.journal.now()
		c.journal.log.Error("a disk came back as an older copy of itself: it takes no new pieces until it was compared with the namespace", "disk", id,
			"path", text(d.Path), "changes", d.Changes, "known", r.Changes, "remedy", "put the newest copy there if there is one; else `hemera fsck repair`")
	default:
		r.Changes = d.Changes
	}
	if r != was {
		ch.put(r)
	}
}

// started notes that a manager runs. After one that did not end in good order every disk is audited soon.
// mu is held.
func (c *Surveys) started(ch *change) {
	if c.table.running {
		c.journal.log.Info("the manager did not end in good order: disks will be audited", "in", AuditSoon)
		c.hasten(ch, c.roster.disks.all)
	}
	// Durable before the manager serves: it is there after a crash, whatever happens.
	ch.put(runningRecord{})
	if c.table.backup.Since.IsZero() {
		ch.put(backupRecord{Last: c.table.backup.Last, Since: c.journal.now()})
	}
}

// Stopped notes that the manager ends in good order. Nothing may be changed afterwards.
func (c *Surveys) Stopped(ctx context.Context) error {
	return c.journal.update(ctx, func(ch *change) error {
		ch.delete(runningRecord{})
		return nil
	}, nil)
}

// note has the next Tick store what the node says of scrubs that ended on its disks, and of their changes. mu is held.
func (c *Surveys) note(on hemera.NodeID, reports []hemera.NodeDisk) {
	for _, d := range reports {
		known := c.roster.disks.byUUID[d.UUID]
		if known == nil || known.Node != on {
			continue
		}
		if s := c.table.disks[known.ID]; d.LastScrub.After(s.LastScrub) || d.Changes > s.Changes && !s.Older {
			// Only what is needed: a report with its histograms is large.
			c.noted = append(c.noted, hemera.NodeDisk{UUID: d.UUID, LastScrub: d.LastScrub, Changes: d.Changes})
		}
	}
}

// storeNoted stores what note found. A disk may have come back as an older copy since then: numbers only grow here.
func (c *Surveys) storeNoted(ctx context.Context) error {
	return c.journal.update(ctx, func(ch *change) error {
		for _, d := range c.noted {
			known := c.roster.disks.byUUID[d.UUID]
			if known == nil {
				continue
			}
			d.Changes = max(d.Changes, c.table.disks[known.ID].Changes)
			c.reported(ch, known.ID, d)
		}
		c.noted = nil
		return nil
	}, nil)
}

// Whole makes durable that an audit found on a disk that came back as an older copy all that the namespace has there: it is used
// like others from now on.
func (c *Surveys) Whole(ctx context.Context, id hemera.DiskID) error {
	err := c.journal.update(ctx, func(ch *change) error {
		if d := c.roster.disks.all[id]; d != nil && c.table.disks[id].Older {
			r := surveyOf(id, c.table.disks[id].survey())
			r.Older, r.Changes = false, d.report.Changes
			ch.put(r)
		}
		return nil
	}, c.views.publishSoon)
	return errs.Wrap(err, "cluster.Whole", "disk "+id.String())
}
