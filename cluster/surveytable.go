package cluster

import (
	"fmt"
	"time"

	"hemera/words/hemera"
)

// surveyRecord has the times at which a disk was last looked at as a whole, and is to be.
type surveyRecord struct {
	Disk      hemera.DiskID
	LastAudit time.Time
	AuditDue  time.Time
	LastScrub time.Time
	Away      bool
	Changes   uint64 `json:",omitempty"`
	Older     bool   `json:",omitempty"`
}

// surveyOf returns the record of a disk's survey.
func surveyOf(id hemera.DiskID, s hemera.DiskSurvey) surveyRecord {
	return surveyRecord{id, s.LastAudit, s.AuditDue, s.LastScrub, s.Away, s.Changes, s.Older}
}

// survey returns the survey of a record.
func (r surveyRecord) survey() hemera.DiskSurvey {
	return hemera.DiskSurvey{LastAudit: r.LastAudit, AuditDue: r.AuditDue, LastScrub: r.LastScrub, Away: r.Away, Changes: r.Changes, Older: r.Older}
}

func (r surveyRecord) key() string { return fmt.Sprintf("survey/%08x", uint32(r.Disk)) }

// runningRecord is there while a manager runs, and after one that did not end in good order.
type runningRecord struct{}

func (runningRecord) key() string { return "running" }

// backupRecord has the time of the last backup, and the time since which that is remembered.
type backupRecord struct {
	Last  time.Time // zero: none
	Since time.Time
}

func (backupRecord) key() string { return "backup" }

// surveyTable owns the records of audits, scrubs and backups.
type surveyTable struct {
	disks   map[hemera.DiskID]surveyRecord // of disks that were looked at, or are to be
	backup  backupRecord
	running bool // a manager runs, or did not end in good order
}
