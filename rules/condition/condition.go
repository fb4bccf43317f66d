package condition

import (
	"cmp"
	"slices"

	"hemera"
)

// Codes of conditions. They are stable: alerts are written for them.
const (
	FilesLost       = "files_lost"
	FilesUnreadable = "files_unreadable"
	FilesIncomplete = "files_incomplete"
	PolicyUnmet     = "policy_unmet"

	NoDisks      = "no_disks"
	DiskGone     = "disk_gone"
	DiskFailing  = "disk_failing"
	DiskReadOnly = "disk_readonly"
	DiskFull     = "disk_full"
	DiskNearFull = "disk_nearly_full"
	DiskOff      = "disk_off"
	DiskErrors   = "disk_errors"
	PathUnusable = "path_unusable"

	AuditOld = "audit_old"
	ScrubOld = "scrub_old"

	NodeWaiting  = "node_waiting"
	NodeOffline  = "node_offline"
	NodeDisabled = "node_disabled"
	NodeStopping = "node_stopping"
	NodeVersion  = "node_version"
	NodeClock    = "node_clock"

	SpaceNoRoom   = "space_no_room"
	SpaceNearFull = "space_nearly_full"
	SpaceTooSmall = "space_too_small"

	JobStalled    = "job_stalled"
	RemovalLag    = "removal_backlog"
	QuotaExceeded = "quota_exceeded"

	PiecesBad    = "pieces_bad"
	LimitReached = "limit_reached"
	BackupOld    = "backup_old"
)

// rule looks at one kind of thing.
type rule func(s *hemera.Snapshot, add func(hemera.Condition))

// List is everything that is not as it should be: errors first, then warnings and information, each by code and subject.
func List(s hemera.Snapshot) []hemera.Condition {
	if s.View == nil {
		s.View = &hemera.View{}
	}
	list := []hemera.Condition{}
	add := func(c hemera.Condition) {
		c.Count = max(c.Count, 1)
		list = append(list, c)
	}
	for _, r := range []rule{files, nodes, disks, surveys, spaces, jobs, removals, quotas, limits, backups} {
		r(&s, add)
	}
	slices.SortStableFunc(list, func(a, b hemera.Condition) int {
		return cmp.Or(rank(b.Severity)-rank(a.Severity), order(a.Code)-order(b.Code))
	})
	return list
}

// codes is the order in which conditions of one severity are shown: what hurts users first.
var codes = [...]string{
	FilesLost, FilesUnreadable, NoDisks, SpaceNoRoom, SpaceTooSmall, PolicyUnmet, NodeOffline, DiskGone, DiskFailing, DiskErrors,
	DiskReadOnly, JobStalled, PiecesBad, FilesIncomplete, LimitReached, SpaceNearFull, DiskFull, DiskNearFull, QuotaExceeded, NodeClock, NodeVersion,
	NodeWaiting, BackupOld, AuditOld, ScrubOld, NodeDisabled, DiskOff, PathUnusable, RemovalLag, NodeStopping,
}

func order(code string) int {
	if i := slices.Index(codes[:], code); i >= 0 {
		return i
	}
	return len(codes)
}

func rank(s hemera.Severity) int {
	switch s {
	case hemera.SeverityError:
		return 3
	case hemera.SeverityWarning:
		return 2
	case hemera.SeverityInfo:
		return 1
	}
	return 0
}

// Worst is the severity of a list; ok when there is nothing but information.
func Worst(list []hemera.Condition) hemera.Severity {
	worst := hemera.SeverityOK
	for _, c := range list {
		if c.Severity != hemera.SeverityInfo && rank(c.Severity) > rank(worst) {
			worst = c.Severity
		}
	}
	return worst
}

// Summarize is the cluster at a glance.
func Summarize(s hemera.Snapshot) hemera.ClusterStatus {
	if s.View == nil {
		s.View = &hemera.View{}
	}
	list := List(s)
	sum := hemera.ClusterStatus{
		Taken: s.Now, Version: s.Version, Booted: s.Namespace.Booted, Health: Worst(list), Conditions: list,
		Nodes: len(s.View.Nodes), Disks: len(s.View.Disks), Room: s.View.Room(s.View.Disks), Tree: s.Namespace.Totals, Files: s.Files,
		PendingWrites: s.Namespace.Pending, Sessions: s.Sessions,
	}
	for _, n := range s.View.Nodes {
		if n.Status == hemera.NodeOnline {
			sum.NodesOnline++
		}
	}
	for _, d := range s.View.Disks {
		if d.Readable() {
			sum.DisksReadable++
		}
		if d.Writable() {
			sum.DisksWritable++
		}
		sum.ReadBytes += d.Load.ReadBytes
		sum.WriteBytes += d.Load.WriteBytes
		sum.ReadOpens += d.Load.ReadOpens
		sum.WriteOpens += d.Load.WriteOpens
	}
	for _, j := range s.Jobs {
		if j.State != "done" {
			sum.Jobs = append(sum.Jobs, j)
		}
	}
	return sum
}
