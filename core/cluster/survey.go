package cluster

import (
	"context"
	"fmt"
	"time"

	"hemera"
	"hemera/errs"
)

// AuditSoon is how long after an unclean start of the manager or a node, or the return of a disk, its
// disks are audited: whatever was being written then is over, and old enough to judge.
const AuditSoon = hemera.UnsealedLifetime + time.Minute

// surveyor records when disks were looked at as a whole, and when backups were taken.
type surveyor struct {
	*state
	scrubs []hemera.NodeDisk // reported, not stored yet; guarded by mu
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
func (c *surveyor) Backups() (last, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backup.Last, c.backup.Since
}

// BackupTaken makes durable that there is a backup of that moment. An older one than is known changes nothing.
func (c *surveyor) BackupTaken(ctx context.Context, at time.Time) error {
	err := c.update(ctx, func(ch *change) error {
		// Two backups may end in the other order than they began.
		if at.After(c.backup.Last) {
			ch.put(backupRecord{Last: at, Since: c.backup.Since})
		}
		return nil
	}, func() {})
	return errs.Wrap(err, "cluster.BackupTaken", "")
}

// Survey is when the disk was last audited and scrubbed, and when it is to be; the zero survey when
// nothing is known.
func (c *surveyor) Survey(id hemera.DiskID) hemera.DiskSurvey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.surveys[id].DiskSurvey
}

// SetAudit makes durable when a disk was audited and when it is to be, as s says; of scrubs it changes
// nothing. A disk that is not of the cluster any more is none.
func (c *surveyor) SetAudit(ctx context.Context, id hemera.DiskID, s hemera.DiskSurvey) error {
	err := c.update(ctx, func(ch *change) error {
		// A disk that was removed and forgotten while its audit went on gets no record.
		if c.disks[id] != nil {
			s.LastScrub = c.surveys[id].LastScrub
			ch.put(surveyRecord{id, s})
		}
		return nil
	}, c.publishSoon)
	return errs.Wrap(err, "cluster.SetAudit", "disk "+id.String())
}

// hasten puts into ch that the disks are audited soon. c.mu is held.
func (c *surveyor) hasten(ch *change, disks map[hemera.DiskID]*disk) {
	soon := c.now().Add(AuditSoon)
	for id := range disks {
		r := surveyRecord{id, c.surveys[id].DiskSurvey}
		if r.AuditDue.IsZero() || r.AuditDue.After(soon) {
			r.AuditDue = soon
			ch.put(r)
		}
	}
}

// scrubbed puts into ch what nodes say of scrubs that ended. c.mu is held.
func (c *surveyor) scrubbed(ch *change, reports []hemera.NodeDisk) {
	for _, d := range reports {
		known := c.byUUID[d.UUID]
		if known == nil || d.LastScrub.IsZero() {
			continue
		}
		r := surveyRecord{known.ID, c.surveys[known.ID].DiskSurvey}
		if d.LastScrub.After(r.LastScrub) {
			r.LastScrub = d.LastScrub
			ch.put(r)
		}
	}
}

// started notes that a manager runs. After one that did not end in good order every disk is audited soon.
// c.mu is held.
func (c *surveyor) started(ch *change) {
	if c.running {
		c.log.Info("the manager did not end in good order: disks will be audited", "in", AuditSoon)
		c.hasten(ch, c.disks)
	}
	// Durable before the manager serves: it is there after a crash, whatever happens.
	ch.put(runningRecord{})
	if c.backup.Since.IsZero() {
		ch.put(backupRecord{Last: c.backup.Last, Since: c.now()})
	}
}

// Stopped notes that the manager ends in good order. Nothing may be changed afterwards.
func (c *surveyor) Stopped(ctx context.Context) error {
	return c.update(ctx, func(ch *change) error {
		ch.delete(runningRecord{})
		return nil
	}, func() {})
}

// noteScrubs has the next Tick store what nodes say of scrubs that ended. c.mu is held.
func (c *surveyor) noteScrubs(reports []hemera.NodeDisk) {
	for _, d := range reports {
		if known := c.byUUID[d.UUID]; known != nil && d.LastScrub.After(c.surveys[known.ID].LastScrub) {
			// Only what is needed: a report with its histograms is large.
			c.scrubs = append(c.scrubs, hemera.NodeDisk{UUID: d.UUID, LastScrub: d.LastScrub})
		}
	}
}

// storeScrubs stores what noteScrubs found.
func (c *surveyor) storeScrubs(ctx context.Context) error {
	return c.update(ctx, func(ch *change) error {
		c.scrubbed(ch, c.scrubs)
		c.scrubs = nil
		return nil
	}, func() {})
}
