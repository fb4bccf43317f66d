package cluster

import (
	"testing"
	"time"

	"hemera/platform/kv/memkv"
	"hemera/words/hemera"
)

// TestUncleanStartsAuditEarly: of the manager and of a node, and starts that follow do not put it off.
func TestUncleanStartsAuditEarly(t *testing.T) {
	at := time.Now()
	store := memkv.New()
	start := func() *Cluster { return open(t, store, func() time.Time { return at }) }
	c := start()
	register(t, c, hello(1, 1))
	register(t, c, hello(2, 1))
	week := at.Add(7 * 24 * time.Hour)
	audited := hemera.DiskSurvey{LastAudit: at, AuditDue: week}
	for id := range hemera.DiskID(2) {
		if err := c.Surveys.SetAudit(t.Context(), id+1, audited); err != nil {
			t.Fatal(err)
		}
	}
	want := func(c *Cluster, id hemera.DiskID, due time.Time) {
		t.Helper()
		if s := c.Surveys.Survey(id); !s.AuditDue.Equal(due) || !s.LastAudit.Equal(audited.LastAudit) {
			t.Errorf("disk %d: %+v, want due at %s", id, s, due)
		}
		if d, _ := c.View().Disk(id); !d.LastAudit.Equal(audited.LastAudit) {
			t.Errorf("the view says disk %d was audited at %s", id, d.LastAudit)
		}
	}
	if err := c.Surveys.Stopped(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = start() // after an end in good order
	want(c, 1, week)
	h := hello(1, 1)
	h.Unclean = true
	register(t, c, h)
	soon := at.Add(AuditSoon)
	want(c, 1, soon)
	want(c, 2, week)
	for range 3 { // each of them killed
		at = at.Add(28 * time.Second)
		c = start()
		want(c, 1, soon)
		want(c, 2, soon.Add(28*time.Second))
	}
}

// TestScrubsAreRemembered: also of a disk whose node is away.
func TestScrubsAreRemembered(t *testing.T) {
	store := memkv.New()
	c := open(t, store, time.Now)
	h := hello(1, 1)
	w := register(t, c, h)
	done := time.Now().Add(-time.Hour)
	h.Disks[0].LastScrub = done
	if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks}); err != nil {
		t.Fatal(err)
	}
	if err := c.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = open(t, store, time.Now)
	if d, _ := c.View().Disk(1); !d.LastScrub.Equal(done) {
		t.Errorf("scrubbed at %s, want %s", d.LastScrub, done)
	}
}

// TestTheLastBackupIsRemembered over a start, and an older one does not take its place.
func TestTheLastBackupIsRemembered(t *testing.T) {
	at := time.Now().Truncate(time.Second)
	store := memkv.New()
	start := func() *Cluster { return open(t, store, func() time.Time { return at }) }
	c := start()
	since := at
	if last, from := c.Surveys.Backups(); !last.IsZero() || !from.Equal(since) {
		t.Errorf("a new cluster: %s since %s", last, from)
	}
	at = at.Add(time.Hour)
	for _, taken := range []time.Time{at, at.Add(-time.Minute)} {
		if err := c.Surveys.BackupTaken(t.Context(), taken); err != nil {
			t.Fatal(err)
		}
	}
	if last, from := start().Surveys.Backups(); !last.Equal(at) || !from.Equal(since) {
		t.Errorf("%s since %s, want %s since %s", last, from, at, since)
	}
}

// TestAnOlderCopyOfADisk: the copy is found when its node registers, also by the next manager, and counts as one until it is whole. A store that went
// back knows less than the disk, which is no fault.
func TestAnOlderCopyOfADisk(t *testing.T) {
	store := memkv.New()
	c := open(t, store, time.Now)
	h := hello(1, 2)
	come := func(changes uint64, want hemera.DiskHealth) {
		t.Helper()
		h.Disks[0].Changes = changes
		w := register(t, c, h)
		h.ID = w.ID
		if d, _ := c.View().Disk(1); d.Health != want || d.Writable() != (want == hemera.HealthOK) || !d.Readable() {
			t.Errorf("with %d changes: %+v, want %s", changes, d, want)
		}
		if d, _ := c.View().Disk(2); d.Health != hemera.HealthOK {
			t.Errorf("the disk beside it: %+v", d)
		}
	}
	come(3, hemera.HealthOK)
	come(3, hemera.HealthOK)
	come(7, hemera.HealthOK)
	h.Unclean = true
	come(6, hemera.HealthOlder)
	h.Unclean = false
	if s := c.Surveys.Survey(1); time.Until(s.AuditDue) > 0 {
		t.Errorf("it is audited late: %+v", s)
	}
	if err := c.Surveys.SetAudit(t.Context(), 1, hemera.DiskSurvey{LastAudit: time.Now()}); err != nil { // of an audit that began before
		t.Fatal(err)
	}
	c = open(t, store, time.Now)
	come(9, hemera.HealthOlder) // repairs are changes, too
	if err := c.Surveys.Whole(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if d, _ := c.View().Disk(1); d.Health != hemera.HealthOK {
		t.Errorf("%+v", d)
	}
	come(9, hemera.HealthOK)
	come(8, hemera.HealthOlder)

	// Gone says nothing, and a node that is not believed changes nothing.
	h.Disks[1].Changes = 5
	register(t, c, h)
	h.Disks[1].Changes, h.Disks[1].Health = 0, hemera.HealthGone
	register(t, c, h)
	h.Disks[1].Changes, h.Disks[1].Health = 5, hemera.HealthOK
	register(t, c, h)
	other := hello(2, 1)
	other.Disks[0].UUID = h.Disks[1].UUID
	register(t, c, other)
	if s := c.Surveys.Survey(2); s.Older || s.Changes != 5 {
		t.Errorf("%+v", s)
	}
}

// TestChangesOfDisksAreRemembered that heartbeats tell.
func TestChangesOfDisksAreRemembered(t *testing.T) {
	store := memkv.New()
	c := open(t, store, time.Now)
	h := hello(1, 1)
	w := register(t, c, h)
	for _, changes := range []uint64{4, 2} {
		h.Disks[0].Changes = changes
		if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks}); err != nil {
			t.Fatal(err)
		}
		if err := c.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s := open(t, store, time.Now).Surveys.Survey(1); s.Changes != 4 || s.Older {
		t.Errorf("%+v", s)
	}
}
