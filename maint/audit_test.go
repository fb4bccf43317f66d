package maint

import (
	"testing"
	"time"

	"hemera/words/hemera"
)

// TestAuditsAreScheduledFromWhatIsStored: a new auditor knows nothing but what the survey says.
func TestAuditsAreScheduledFromWhatIsStored(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	soon := now.Add(OrphanAge + time.Minute)
	there, gone := hemera.Disk{ID: 1, Active: true}, hemera.Disk{ID: 1}
	for name, c := range map[string]struct {
		disk hemera.Disk
		old  hemera.DiskSurvey
		want hemera.DiskSurvey
		due  bool
	}{
		"new":              {there, hemera.DiskSurvey{}, hemera.DiskSurvey{AuditDue: soon}, false},
		"not due":          {there, hemera.DiskSurvey{AuditDue: now.Add(1)}, hemera.DiskSurvey{AuditDue: now.Add(1)}, false},
		"due":              {there, hemera.DiskSurvey{AuditDue: now}, hemera.DiskSurvey{AuditDue: now}, true},
		"due and away":     {gone, hemera.DiskSurvey{AuditDue: now}, hemera.DiskSurvey{AuditDue: now}, false},
		"was away":         {there, hemera.DiskSurvey{Away: true, AuditDue: now.Add(100 * time.Hour)}, hemera.DiskSurvey{AuditDue: soon}, false},
		"was away and due": {there, hemera.DiskSurvey{Away: true, AuditDue: now.Add(-1)}, hemera.DiskSurvey{AuditDue: now.Add(-1)}, true},
		"a wrong clock":    {there, hemera.DiskSurvey{AuditDue: now.Add(9 * AuditInterval)}, hemera.DiskSurvey{AuditDue: now.Add(AuditInterval)}, false},
	} {
		a := New(Options{}).auditor
		got, due := a.schedule(c.disk, c.old, now)
		if got != c.want || due != c.due {
			t.Errorf("%s: %+v, due %t; want %+v, %t", name, got, due, c.want, c.due)
		}
	}
	a := New(Options{}).auditor
	s := hemera.DiskSurvey{AuditDue: now.Add(AuditInterval)}
	for after, away := range map[time.Duration]bool{0: false, awayAfter - 1: false, awayAfter: true} {
		_, _ = a.schedule(gone, s, now)
		if got, _ := a.schedule(gone, s, now.Add(after)); got.Away != away {
			t.Errorf("a disk nobody reported for %s counts as away: %t", after, got.Away)
		}
	}
	_, _ = a.schedule(there, s, now)
	if got, _ := a.schedule(gone, s, now); !got.Away {
		t.Error("a disk that was there a moment ago does not count as away")
	}
}
