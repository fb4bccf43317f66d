package condition

import (
	"cmp"
	"slices"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Codes of conditions. They never change: alerts refer to them.
const (
	FilesLost       = "files_lost"       // error: no piece is left, or none that is good
	FilesUnreadable = "files_unreadable" // error: the pieces are on disks that are away
	FilesIncomplete = "files_incomplete" // warning: fewer pieces than the layout has
	FilesDegraded   = "files_degraded"   // warning: pieces are on disks that are away
	FilesNodeLoss   = "files_node_loss"  // warning: files do not survive the loss of one of several nodes
	FilesZoneLoss   = "files_zone_loss"  // information: files do not survive the loss of one of several zones
	PolicyUnmet     = "policy_unmet"     // warning: a policy wants more pieces than the space has disks

	NoDisks      = "no_disks"         // error: a cluster without disks
	DiskGone     = "disk_gone"        // warning: not mounted, or another disk is there
	DiskFailing  = "disk_failing"     // warning: I/O or checksum errors beyond the limit
	DiskReadOnly = "disk_readonly"    // warning: the filesystem refuses writes
	DiskOlder    = "disk_older"       // warning: an older copy of itself, which may lack pieces
	DiskFull     = "disk_full"        // warning: below its headroom
	DiskNearFull = "disk_nearly_full" // warning: see nearlyFull
	DiskOff      = "disk_off"         // warning: an admin switched it off
	DiskErrors   = "disk_errors"      // warning: errors since its node started
	PathUnusable = "path_unusable"    // warning: a node has a path that is not a disk

	AuditOld = "audit_old" // warning: see auditMax
	ScrubOld = "scrub_old" // warning: see scrubMax

	NodeWaiting  = "node_waiting"  // warning: an admin is to admit it
	NodeOffline  = "node_offline"  // warning: no heartbeat
	NodeDisabled = "node_disabled" // warning: an admin switched it off
	NodeStopping = "node_stopping" // information: it ends its writes
	NodeKept     = "node_kept"     // information: it keeps writes whose clients did not come back
	NodeVersion  = "node_version"  // warning: another version than the manager's
	NodeClock    = "node_clock"    // warning: see clockSkewMax
	NodeNetwork  = "node_network"  // warning: it loses packets

	SpaceNoRoom   = "space_no_room"     // error: no disk takes new files
	SpaceNearFull = "space_nearly_full" // warning: see nearlyFull
	SpaceTooSmall = "space_too_small"   // warning: fewer disks than its policy wants pieces
	SpaceNodeLoss = "space_node_loss"   // warning: new files do not survive the loss of one of several nodes
	SpaceZoneLoss = "space_zone_loss"   // information: nor that of one of several zones
	SpaceDiskLoss = "space_disk_loss"   // information: a layout without copies and parity

	JobStalled    = "job_stalled"     // warning: a drain or repair makes no progress
	RemovalLag    = "removal_backlog" // warning: see removalsMax
	QuotaExceeded = "quota_exceeded"  // warning: new files are refused there

	PiecesBad    = "pieces_bad"    // warning: they are being repaired from other pieces
	LimitReached = "limit_reached" // warning: clients were refused
	BackupOld    = "backup_old"    // warning: see backupMax
	Rebuilding   = "rebuilding"    // error: ns rebuild has begun and is not finished
	WentBack     = "went_back"     // warning, information once all disks were searched: a restored namespace lacks the changes since its backup

	TapeAttention = "tape_attention" // warning: something in the tape tier needs a person
)

// rule checks one kind of thing in a snapshot and adds conditions for what is wrong. It changes nothing.
type rule func(s *Snapshot, add func(adminapi.Condition))

// List returns all conditions: errors first, then warnings and information, each by code and subject.
func List(s Snapshot) []adminapi.Condition {
	if s.View == nil { // a cluster without disks
		s.View = &hemera.View{}
	}
	list := []adminapi.Condition{} // never nil: programs read it as JSON
	add := func(c adminapi.Condition) {
		c.Count = max(c.Count, 1) // a rule that does not count means one thing
		list = append(list, c)
	}
	// Any order: the list is sorted.
	for _, r := range []rule{files, tape, nodes, networks, disks, surveys, spaces, losses, exposed, jobs, removals, quotas, limits, backups, rebuilding, wentBack} {
		r(&s, add)
	}
	// Stable: within a code the order is the rule's, which is that of ids.
	slices.SortStableFunc(list, func(a, b adminapi.Condition) int {
		return cmp.Or(rank(b.Severity)-rank(a.Severity), order(a.Code)-order(b.Code))
	})
	return list
}

// codes is the order in which conditions of one severity are shown: the most urgent for users first.
var codes = [...]string{
	Rebuilding, FilesLost, FilesUnreadable, NoDisks, SpaceNoRoom, SpaceTooSmall, SpaceNodeLoss, FilesNodeLoss, PolicyUnmet, NodeOffline, NodeNetwork, DiskGone, DiskFailing, DiskErrors,
	DiskReadOnly, DiskOlder, JobStalled, PiecesBad, FilesDegraded, FilesIncomplete, TapeAttention, LimitReached, SpaceNearFull, DiskFull, DiskNearFull, QuotaExceeded, NodeClock, NodeVersion,
	NodeWaiting, WentBack, BackupOld, AuditOld, ScrubOld, NodeDisabled, DiskOff, PathUnusable, RemovalLag, NodeStopping, NodeKept,
	SpaceZoneLoss, FilesZoneLoss, SpaceDiskLoss,
}

// order returns the place of a code in codes. An unknown code comes last.
func order(code string) int {
	if i := slices.Index(codes[:], code); i >= 0 {
		return i
	}
	return len(codes)
}

// rank orders severities: the worst has the largest number.
func rank(s adminapi.Severity) int {
	switch s {
	case adminapi.SeverityError:
		return 3
	case adminapi.SeverityWarning:
		return 2
	case adminapi.SeverityInfo:
		return 1
	}
	return 0
}

// Worst returns the severity of a list, which is that of its worst condition. It is ok if there is only information.
func Worst(list []adminapi.Condition) adminapi.Severity {
	worst := adminapi.SeverityOK // information does not count: it describes what an admin wanted
	for _, c := range list {
		if c.Severity != adminapi.SeverityInfo && rank(c.Severity) > rank(worst) {
			worst = c.Severity
		}
	}
	return worst
}

// Summarize counts what a cluster has, and lists its conditions.
func Summarize(s Snapshot) adminapi.ClusterStatus {
	if s.View == nil {
		s.View = &hemera.View{}
	}
	list := List(s) // the summary's health is that of the list, so that both always agree
	sum := adminapi.ClusterStatus{
		Taken: s.Now, Version: s.Version, Booted: s.Namespace.Booted, Health: Worst(list), Conditions: list,
		Nodes: len(s.View.Nodes), Disks: len(s.View.Disks), Room: s.View.Room(s.View.Disks), Tree: s.Namespace.Totals, Recycled: s.Namespace.Recycled, Files: s.Files,
		PendingWrites: s.Namespace.Pending, Sessions: s.Sessions,
	}
	for _, n := range s.View.Nodes {
		if n.Status == hemera.NodeOnline { // also one that is switched off
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
		if !j.Over() { // finished jobs stay in the list for a while
			sum.Jobs = append(sum.Jobs, j)
		}
	}
	return sum
}
