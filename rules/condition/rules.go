package condition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Bounds of the rules.
const (
	// nearlyFull is the share of a disk or space from which it counts as nearly full.
	nearlyFull = 0.9
	// clockSkewMax is the largest difference between a node's clock and the manager's. It makes times of files and logs
	// wrong; capabilities allow for an hour.
	clockSkewMax = 5 * time.Second
	// removalsMax is the number of pieces that may wait for their disks to remove them.
	removalsMax = 1_000_000
	// auditMax and scrubMax are the longest times since a disk was compared with the namespace (an audit, every 7 days),
	// and since all of its data was read (a scrub).
	auditMax = 21 * 24 * time.Hour
	scrubMax = 90 * 24 * time.Hour
	// quotasShown is the number of quota nodes that are named; one condition counts the rest.
	quotasShown = 20
	// backupMax is the largest age of the last backup of a manager with files.
	backupMax = 7 * 24 * time.Hour
)

// files finds files that are lost, unreadable or incomplete, as the namespace lists them for the disks. A partial count
// is a lower bound.
func files(s *Snapshot, add func(adminapi.Condition)) {
	f := s.Files
	if f.Lost > 0 {
		const onTape = "; what is on tape comes back by itself when its tape can be read"
		remedy := "hemera find / --lost names them; add the disks again (hemera fs add), restore the files from elsewhere, or remove them" + onTape
		if f.Ruined == f.Lost {
			remedy = "hemera find / --lost names them, hemera why PATH says what is left; restore them from elsewhere, or remove them" + onTape
		}
		add(adminapi.Condition{Code: FilesLost, Severity: adminapi.SeverityError, Count: f.Lost, Text: lost(s, f), Remedy: remedy})
	}
	if onDisk := f.Unreadable - f.UnreadableOnTape; onDisk > 0 {
		var on []string // the disks to bring back
		for _, d := range f.Disks {
			if d.Unreadable > 0 {
				on = append(on, d.Disk.String())
			}
		}
		add(adminapi.Condition{Code: FilesUnreadable, Severity: adminapi.SeverityError, Count: onDisk,
			Text:   atLeast(f.Partial) + count(onDisk, "file", "files") + " cannot be read now; the pieces are on " + named("disk", "disks", on),
			Remedy: "bring the disks back: hemera fs ls -e says what is wrong with them; hemera find / --unreadable names the files",
		})
	}
	for _, t := range f.Tapes {
		add(adminapi.Condition{Code: FilesUnreadable, Severity: adminapi.SeverityError, Subject: "tape " + string(t.VID), Count: t.Unreadable,
			Text:   count(t.Unreadable, "file is", "files are") + " on tape only, and cannot be read: " + t.Why,
			Remedy: t.Remedy + "; hemera find / --unreadable names the files",
		})
	}
	if f.Degraded > 0 {
		add(adminapi.Condition{Code: FilesDegraded, Severity: adminapi.SeverityWarning, Count: f.Degraded,
			Text:   atLeast(f.Partial) + count(f.Degraded, "file can be read, and has", "files can be read, and have") + " pieces on disks that cannot" + frail(f),
			Remedy: "bring the disks back: hemera fs ls -e; hemera find / --degraded names the files",
		})
	}
	if f.Incomplete > 0 {
		add(adminapi.Condition{Code: FilesIncomplete, Severity: adminapi.SeverityWarning, Count: f.Incomplete,
			Text:   atLeast(f.Partial) + count(f.Incomplete, "file has", "files have") + " fewer pieces than the layout asks for",
			Remedy: "repair makes them by itself; hemera find / --stripediff names the files, and a stalled repair says why",
		})
	}
	for _, u := range f.Unmet { // repair cannot complete these before disks are added
		add(adminapi.Condition{Code: PolicyUnmet, Severity: adminapi.SeverityWarning, Subject: "space " + string(u.Space), Count: u.Files,
			Text: atLeast(f.Partial) + fmt.Sprintf("%s for %d pieces and space %s has %s",
				count(u.Files, "file asks", "files ask"), u.Pieces, u.Space, count(int64(u.Disks), "disk", "disks")),
			Remedy: "add disks to the space, or ask for fewer copies: hemera attr set sys.forced.nstripes=N on the directory, for new files",
		})
	}
}

// frail says how many of the files that lack pieces cannot lose another one, or "".
func frail(f adminapi.FileHealth) string {
	if f.Frail == 0 {
		return ""
	}
	return "; " + count(f.Frail, "file cannot", "files cannot") + " be read any more if one more piece is lost"
}

// tapesShown is the number of problems of the tape tier that are named; one condition counts the rest.
const tapesShown = 20

// tape adds the problems of the tape tier that need a person.
func tape(s *Snapshot, add func(adminapi.Condition)) {
	for i, a := range s.Tape {
		if i == tapesShown {
			add(adminapi.Condition{Code: TapeAttention, Severity: adminapi.SeverityWarning, Count: int64(len(s.Tape) - i),
				Text: count(int64(len(s.Tape)-i), "more thing", "more things") + " of the tape tier need a person", Remedy: "hemera tape status"})
			return
		}
		add(adminapi.Condition{Code: TapeAttention, Severity: adminapi.SeverityWarning, Subject: a.Subject, Text: a.What, Remedy: a.Command})
	}
}

// lost says how files were lost: their disks were removed, or their pieces are bad. A removed disk can be added again,
// but a bad piece stays bad. So the text separates the two.
func lost(s *Snapshot, f adminapi.FileHealth) string {
	const removed, ruined = " too few pieces on disks of the cluster", " too few pieces left that are not known to be bad"
	all := atLeast(f.Partial) + count(f.Lost, "file has", "files have")
	switch f.Ruined {
	case 0:
		return all + removed + lastSeen(s, f)
	case f.Lost:
		return all + ruined + lastSeen(s, f)
	}
	return fmt.Sprintf("%s no good piece: %d%s, %d%s%s", all, f.Lost-f.Ruined, removed, f.Ruined, ruined, lastSeen(s, f))
}

// lastSeen says where the removed disks of lost files were.
// At most namesMax disks are named, so that the text stays short when a rack is lost.
func lastSeen(s *Snapshot, f adminapi.FileHealth) string {
	var parts []string
	for _, d := range f.Disks {
		if d.Lost == 0 {
			continue
		}
		where := "disk " + d.Disk.String()
		if was, ok := s.View.RemovedDisk(d.Disk); ok {
			where += ", last seen at " + was.Where()
		} else if there, ok := s.View.Disk(d.Disk); ok {
			n, _ := s.View.Node(there.Node)
			where += ", " + there.Path + " on " + n.Addr
		}
		if len(parts) == namesMax {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, where)
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

// nodes finds nodes that do not answer, or are not used, and those whose version or clock differs from the manager's.
func nodes(s *Snapshot, add func(adminapi.Condition)) {
	for _, n := range s.View.Nodes {
		subject := "node " + n.ID.String()
		switch {
		case n.Status == hemera.NodeWaiting: // it has no disks yet, so nothing else can be said of it
			add(adminapi.Condition{Code: NodeWaiting, Severity: adminapi.SeverityWarning, Subject: subject,
				Text: n.Addr + " has joined and waits to be admitted", Remedy: "hemera node admit " + n.ID.String() + ", or hemera node rm " + n.ID.String(),
			})
		case n.Status == hemera.NodeOffline:
			since := "" // a node that was never heard of has no time
			if !n.Heartbeat.IsZero() {
				since = " for " + age(s.Now.Sub(n.Heartbeat))
			}
			add(adminapi.Condition{Code: NodeOffline, Severity: adminapi.SeverityWarning, Subject: subject,
				Text:   n.Addr + " has not answered" + since,
				Remedy: "start it, or see its log; to keep it away without repair around it: hemera node set " + n.ID.String() + " off",
			})
		case !n.Enabled:
			add(adminapi.Condition{Code: NodeDisabled, Severity: adminapi.SeverityWarning, Subject: subject,
				Text: n.Addr + " is switched off, so its disks are not used", Remedy: "hemera node set " + n.ID.String() + " on",
			})
		}
		if n.Status != hemera.NodeOnline {
			continue // its report from before is out of date
		}
		if n.Stopping {
			// An admin stopped it, so this is not a warning: an alert at each restart would teach people to ignore
			// alerts.
			add(adminapi.Condition{Code: NodeStopping, Severity: adminapi.SeverityInfo, Subject: subject,
				Text: n.Addr + " is stopping: its files can be read, it gets no new ones, and the writes it has may end", Remedy: "nothing; start it again when its work is done",
			})
		}
		if kept := int64(n.Stats.Kept); kept > 0 {
			add(adminapi.Condition{Code: NodeKept, Severity: adminapi.SeverityInfo, Subject: subject, Count: kept,
				Text:   n.Addr + " keeps " + count(kept, "write whose client", "writes whose clients") + " did not come back; each is removed an hour after that",
				Remedy: "hemera open ls shows them; hemera open commit ID takes one as it is, hemera open drop ID removes it",
			})
		}
		reached(subject, n.Addr, n.Stats.Limits, add)
		// During an upgrade this is expected; afterwards the node was forgotten.
		if s.Version != "" && n.Version != "" && n.Version != s.Version {
			add(adminapi.Condition{Code: NodeVersion, Severity: adminapi.SeverityWarning, Subject: subject,
				Text: fmt.Sprintf("%s runs %s, the manager %s", n.Addr, n.Version, s.Version), Remedy: "upgrade it, or finish the upgrade under way",
			})
		}
		if skew := n.ClockSkew.Abs(); skew > clockSkewMax {
			add(adminapi.Condition{Code: NodeClock, Severity: adminapi.SeverityWarning, Subject: subject,
				Text:   fmt.Sprintf("the clock of %s is %s %s the manager's", n.Addr, age(skew), onOff(n.ClockSkew > 0, "ahead of", "behind")),
				Remedy: "set the clocks by NTP on both machines; past an hour nodes refuse what the manager permits",
			})
		}
		// These paths are not disks of the cluster yet, so no condition of a disk reports them.
		for _, u := range n.Stats.Unusable {
			add(adminapi.Condition{Code: PathUnusable, Severity: adminapi.SeverityWarning, Subject: subject,
				Text: u.Text(n.Addr), Remedy: cmp.Or(u.Remedy, "put that right there, or take the path from the node's --disk list"),
			})
		}
	}
}

// networks finds nodes whose network is suspected. Offline nodes have a worse condition.
func networks(s *Snapshot, add func(adminapi.Condition)) {
	for _, n := range s.Network.Nodes {
		node, _ := s.View.Node(n.Node)
		if n.Standing != adminapi.NetworkSuspected || node.Status != hemera.NodeOnline {
			continue
		}
		lost, weight := fmt.Sprintf(" (%.2g %% of what it sends, %.2g %% of what it receives)", 100*n.Out.Share(), 100*n.In.Share()), ""
		if n.Weight < 1 {
			weight = fmt.Sprintf("; until it is well again its weight for new pieces and for readers is %.2f", n.Weight)
		}
		add(adminapi.Condition{Code: NodeNetwork, Severity: adminapi.SeverityWarning, Subject: "node " + n.Node.String(),
			Text: "the network of " + n.Addr + " is suspected: " + n.Where + lost + weight, Remedy: n.Remedy + "; hemera net why " + n.Node.String() + " has the figures",
		})
	}
}

// disks finds disks with problems. It leaves out those of an offline node: the node's condition covers them.
func disks(s *Snapshot, add func(adminapi.Condition)) {
	if len(s.View.Disks) == 0 {
		remedy := "join a node (hemera token create) and add its disks (hemera fs add)"
		// Nodes were given disks: more of the same kind would not help.
		if slices.ContainsFunc(s.View.Nodes, func(n hemera.NodeInfo) bool { return len(n.Stats.Unusable) > 0 }) {
			remedy = "make the paths usable that path_unusable names; nodes try them again by themselves"
		}
		add(adminapi.Condition{Code: NoDisks, Severity: adminapi.SeverityError, Text: "the cluster has no disk, so it takes no files", Remedy: remedy})
	}
	for _, d := range s.View.Disks {
		n, _ := s.View.Node(d.Node)
		at := where(n, d)
		// At most one condition of a disk is about its state. One about its errors may be added.
		say := func(code, text, remedy string) {
			add(adminapi.Condition{Code: code, Severity: adminapi.SeverityWarning, Subject: "disk " + d.ID.String(), Text: text, Remedy: remedy})
		}
		id := d.ID.String()
		if d.Config == hemera.ConfigOff {
			if n.Status != hemera.NodeOnline || d.Health != hemera.HealthGone {
				say(DiskOff, at+" is switched off"+holding(d), "hemera fs set "+id+" rw, or ro, or drain to empty it")
				continue
			}
			// To use it again would find nothing there.
			remedy := "mount it again, then hemera fs set " + id + " rw; if it is lost for good, hemera fs set " + id + " drain has its files repaired elsewhere"
			if d.Pieces == 0 {
				remedy = "mount it again, then hemera fs set " + id + " rw; or forget it: hemera fs rm " + id
			}
			say(DiskOff, at+" "+d.Unreadable(n)+holding(d), remedy)
			continue
		}
		if n.Status != hemera.NodeOnline {
			continue // the node has one condition for all of them
		}
		switch d.Health {
		case hemera.HealthGone:
			remedy := "mount it again; its files are repaired elsewhere after the grace, or at once: hemera fs set " + id + " drain; if it is lost for good: hemera fs rm " + id + " --force"
			switch {
			case d.Pieces == 0:
				remedy = "mount it again, or forget it: hemera fs rm " + id
			case d.Config == hemera.ConfigDrain:
				remedy = "its files are being repaired elsewhere (hemera fs status " + id + "); forget it when that is done: hemera fs rm " + id + "; or mount it again"
			}
			say(DiskGone, at+" is gone"+holding(d)+why(d), remedy)
		case hemera.HealthFailing:
			say(DiskFailing, at+" is failing"+why(d), "its files are repaired elsewhere; replace the device, then hemera fs rm "+id+" --force")
		case hemera.HealthReadOnly:
			say(DiskReadOnly, at+" takes no writes"+why(d), "look at the kernel's log there; empty it: hemera fs set "+id+" drain")
		case hemera.HealthOlder:
			say(DiskOlder, at+" came back as an older copy of itself; it takes no new pieces, and what it should have is not counted on",
				"put the newest copy there if there is one; else hemera fsck repair compares it with the namespace, and it is used again once it lacks nothing")
		case hemera.HealthFull:
			if d.Config == hemera.ConfigRW { // a full disk that takes no writes anyway is not a problem
				say(DiskFull, at+" is full", "remove files, add disks, or move some away: hemera fs set "+id+" drain")
			}
		case hemera.HealthOK:
			if used := d.Filling(); used >= nearlyFull && d.Config == hemera.ConfigRW {
				say(DiskNearFull, fmt.Sprintf("%s is %.0f%% full", at, 100*used), "remove files, or add disks")
			}
		}
		// Errors of a disk that still counts as good: the first sign of one that will fail.
		if bad := d.Load.ChecksumErrors + d.Load.IOErrors; bad > 0 && d.Health != hemera.HealthFailing {
			add(adminapi.Condition{Code: DiskErrors, Severity: adminapi.SeverityWarning, Subject: "disk " + id, Count: bad,
				Text: fmt.Sprintf("%s has had %s and %s since its node started or they were cleared", at,
					count(d.Load.ChecksumErrors, "checksum error", "checksum errors"), count(d.Load.IOErrors, "I/O error", "I/O errors")),
				Remedy: "look at the device (smartctl, the kernel's log); if it is well: hemera fs set " + id + " errors=0; empty it if there are more: hemera fs set " + id + " drain",
			})
		}
	}
}

// surveys checks when each disk was last audited and read as a whole. For a disk that was never audited, the time counts
// from the manager's start. A disk that was never read as a whole has no condition, because it is not known since when it
// is there.
func surveys(s *Snapshot, add func(adminapi.Condition)) {
	for _, d := range s.View.Disks {
		if !d.Readable() || d.Pieces == 0 {
			continue // nothing to compare or to read
		}
		n, _ := s.View.Node(d.Node)
		subject := "disk " + d.ID.String()
		audited := d.LastAudit
		if audited.IsZero() {
			audited = s.Namespace.Booted
		}
		if since := s.Now.Sub(audited); !audited.IsZero() && since > auditMax {
			add(adminapi.Condition{Code: AuditOld, Severity: adminapi.SeverityWarning, Subject: subject,
				Text: where(n, d) + " was not compared with the namespace for " + age(since), Remedy: "hemera fsck report compares all disks now; the log says why the manager does not",
			})
		}
		if since := s.Now.Sub(d.LastScrub); !d.LastScrub.IsZero() && since > scrubMax {
			add(adminapi.Condition{Code: ScrubOld, Severity: adminapi.SeverityWarning, Subject: subject,
				Text: "the data of " + where(n, d) + " was not read as a whole for " + age(since), Remedy: "give the node more time for it, or look at its log",
			})
		}
	}
}

// spaces finds spaces in which files cannot be stored as their policy says, now or soon.
func spaces(s *Snapshot, add func(adminapi.Condition)) {
	for _, sp := range s.View.Spaces {
		var all, writable []hemera.Disk
		var free []int64 // of writable ones
		remedy := "hemera fs ls " + string(sp.Name) + " shows its disks; add disks, bring some back, or free room"
		for _, d := range s.View.Disks {
			if d.Space != sp.Name {
				continue
			}
			all = append(all, d)
			if d.Writable() && d.Free > 0 {
				writable, free = append(writable, d), append(free, d.Free)
			}
		}
		if len(all) == 0 {
			continue // it cannot have files, and no_disks covers the rest
		}
		subject, name := "space "+string(sp.Name), "space "+string(sp.Name)
		// With fewer disks than this, no write could be acknowledged.
		need := max(int(sp.Policy.PiecesMin), sp.Policy.Layout.Enough(), 1)
		if len(all) < need { // no disk of the space is missing
			remedy = fmt.Sprintf("add disks, or ask for less: hemera space set %s %s", sp.Name, Smaller(sp.Policy.Layout, len(all)))
		}
		switch wants := int(sp.Policy.Layout.Pieces); {
		case len(writable) < need:
			add(adminapi.Condition{Code: SpaceNoRoom, Severity: adminapi.SeverityError, Subject: subject,
				Text: fmt.Sprintf("%s takes no new files: they need %s that can be written, and it has %d%s", name,
					count(int64(need), "disk", "disks"), len(writable), tight(all, free)),
				Remedy: remedy,
			})
			continue
		case len(all) < wants:
			add(adminapi.Condition{Code: SpaceTooSmall, Severity: adminapi.SeverityWarning, Subject: subject, Count: int64(wants - len(all)),
				Text:   fmt.Sprintf("%s has %s and its policy asks for %d pieces of each file", name, count(int64(len(all)), "disk", "disks"), wants),
				Remedy: fmt.Sprintf("add disks, or ask for less: hemera space set %s %s", sp.Name, Smaller(sp.Policy.Layout, len(all))),
			})
		}
		// Only disks that take files count: room on others is of no use to a writer.
		room := s.View.Room(writable)
		if used := room.Filling(); used >= nearlyFull {
			add(adminapi.Condition{Code: SpaceNearFull, Severity: adminapi.SeverityWarning, Subject: subject,
				Text:   fmt.Sprintf("%s is %.0f%% full%s", name, 100*used, largest(free, min(max(need, int(sp.Policy.Layout.Pieces)), len(free)))),
				Remedy: "remove files, or add disks",
			})
		}
	}
}

// Smaller returns the setting of a layout for that number of disks. Parities stay. If there are not more disks than
// parities, only copies are possible.
func Smaller(l hemera.Layout, disks int) string {
	if l.Coded() && disks <= l.Parity() {
		return fmt.Sprintf("policy.layout=replica:%d", disks)
	}
	return fmt.Sprintf("policy.nstripes=%d", disks)
}

// losses finds spaces whose new files do not survive the losses that an admin expects them to survive. An admin chose a
// layout without redundancy, one node or one zone, and there are often fewer zones than a layout needs. So only the loss
// of one of several nodes is a warning: parity is chosen for that.
func losses(s *Snapshot, add func(adminapi.Condition)) {
	for _, l := range s.Losses {
		subject, parity := "space "+string(l.Space), l.Layout.Parity()
		// most is the number of pieces of a file that one of them has, need the number of them that a file needs.
		say := func(code string, severity adminapi.Severity, what, many string, most, have int) {
			need := (int(l.Layout.Pieces) + parity - 1) / parity
			spread := fmt.Sprintf("put its disks on at least %d %s", need, many)
			if have >= need {
				spread = "add disks to those of its " + many + " that have few"
			}
			add(adminapi.Condition{Code: code, Severity: severity, Subject: subject,
				Text: fmt.Sprintf("files in space %s do not survive the loss of a %s: layout %s puts up to %d pieces on each of %d %s",
					l.Space, what, l.Layout, most, have, many),
				Remedy: spread + ", or use a layout with more parity: hemera space set " + string(l.Space) + " policy.layout=…, for new files",
			})
		}
		switch {
		case !l.Disk:
			add(adminapi.Condition{Code: SpaceDiskLoss, Severity: adminapi.SeverityInfo, Subject: subject,
				Text:   fmt.Sprintf("files in space %s do not survive the loss of a disk: layout %s has no copies and no parity", l.Space, l.Layout),
				Remedy: "nothing, if that is wanted; else hemera space set " + string(l.Space) + " policy.layout=replica:2 or rs:4+2, for new files",
			})
		case l.Nodes > 1 && !l.Node:
			say(SpaceNodeLoss, adminapi.SeverityWarning, "node", "nodes", l.PerNode, l.Nodes)
		case l.Zones > 1 && !l.Zone:
			say(SpaceZoneLoss, adminapi.SeverityInfo, "zone", "zones", l.PerZone, l.Zones)
		}
	}
}

// exposed finds files with too many pieces in one node or zone. Those with the layout of their space are covered by the
// space's own condition.
func exposed(s *Snapshot, add func(adminapi.Condition)) {
	for _, f := range s.Exposed {
		said := exposedBySpace(s, f)
		say := func(code string, severity adminapi.Severity, what string, files int64, most int) {
			add(adminapi.Condition{Code: code, Severity: severity, Subject: "space " + string(f.Space), Count: files,
				Text: fmt.Sprintf("%s with layout %s in space %s: the loss of a %s is not survived, as up to %d pieces are in one; %s is such a file",
					count(files, "file", "files"), f.Layout, f.Space, what, most, f.Path),
				Remedy: fmt.Sprintf("add disks in other %ss, and balancing moves pieces there; or hemera convert --layout, with more parity; hemera why PATH has the pieces", what),
			})
		}
		if f.Node > 0 && !said.Node {
			say(FilesNodeLoss, adminapi.SeverityWarning, "node", f.Node, f.PerNode)
		}
		// A zone has the pieces of its nodes, so it only matters for files that survive the loss of each node.
		if zone := f.Zone - f.Node; zone > 0 && !said.Zone {
			say(FilesZoneLoss, adminapi.SeverityInfo, "zone", zone, f.PerZone)
		}
	}
}

// exposedBySpace reports in Node and Zone which losses the space has a condition for.
func exposedBySpace(s *Snapshot, f ExposedFiles) (said SpaceLoss) {
	for _, l := range s.Losses {
		if l.Layout.BlockSize = 0; l.Space == f.Space && l.Layout == f.Layout {
			said.Node = l.Nodes > 1 && !l.Node
			said.Zone = said.Node || l.Zones > 1 && !l.Zone
		}
	}
	return said
}

// jobs finds drains and repairs that make no progress. It leaves out those with nothing but lost files.
func jobs(s *Snapshot, add func(adminapi.Condition)) {
	for _, j := range s.Jobs {
		if j.State != adminapi.JobStalled || onlyLost(s, j) {
			continue
		}
		subject, remedy := "disk "+j.Disk.String(), "hemera why disk "+j.Disk.String()+" says what it waits for"
		switch {
		case j.Path != "":
			subject, remedy = string(j.Kind)+" of "+j.Path, "put that right and it goes on by itself; hemera convert ls has its figures, hemera convert stop ends it"
		case j.Disk == 0: // the repair of files that were never complete belongs to no disk
			subject, remedy = "repair", "hemera find / --stripediff names the files"
		}
		text := j.Title() + " is stalled with " + count(j.FilesLeft, "file", "files") + " left"
		if j.Why != "" {
			text += ": " + j.Why
		}
		add(adminapi.Condition{Code: JobStalled, Severity: adminapi.SeverityWarning, Subject: subject, Count: j.FilesLeft, Text: text, Remedy: remedy})
	}
}

// onlyLost reports whether a job has only lost files left: they have their own condition.
func onlyLost(s *Snapshot, j adminapi.JobStatus) bool {
	i := slices.IndexFunc(s.Files.Disks, func(d adminapi.DiskLoss) bool { return d.Disk == j.Disk })
	return i >= 0 && s.Files.Disks[i].Lost >= j.FilesLeft
}

// removals finds bad pieces, and disks that do not keep up with removals.
func removals(s *Snapshot, add func(adminapi.Condition)) {
	if s.Bad > 0 {
		add(adminapi.Condition{Code: PiecesBad, Severity: adminapi.SeverityWarning, Count: int64(s.Bad),
			Text: count(int64(s.Bad), "piece was", "pieces were") + " found bad and will be repaired from other pieces", Remedy: "nothing, unless it stays: the manager's log says which cannot be repaired, hemera fs ls which disks have errors",
		})
	}
	if n := s.Namespace.Unlinked - s.Namespace.Held; n > removalsMax {
		add(adminapi.Condition{Code: RemovalLag, Severity: adminapi.SeverityWarning, Count: n,
			Text:   fmt.Sprintf("%d pieces wait for their disks to remove them, so room comes back late", n),
			Remedy: "disks that are away remove theirs when they are back; busy ones need time (hemera fs ls --io)",
		})
	}
}

// limits finds bounds of the manager's process that were reached. The rule for nodes finds those of nodes.
func limits(s *Snapshot, add func(adminapi.Condition)) {
	reached("manager", "the manager", s.Limits, add)
}

// reached adds one condition for the bounds of a process that refused a request a short time ago.
func reached(subject, at string, list []hemera.LimitUse, add func(adminapi.Condition)) {
	var names []string
	var refused int64
	for _, l := range list {
		names = append(names, fmt.Sprintf("%s (%d of %d in use, %s ago)", l.Name, l.Used, l.Max, age(l.RefusedAgo)))
		refused += l.Refused
	}
	if len(names) == 0 {
		return
	}
	add(adminapi.Condition{Code: LimitReached, Severity: adminapi.SeverityWarning, Subject: subject, Count: refused,
		Text:   fmt.Sprintf("%s refused clients at %s; %s since its start", at, named("limit", "limits", names), count(refused, "refusal", "refusals")),
		Remedy: "hemera who says who is there, hemera_limit_refused_total whether one client or all together reached it; see Limits in docs/operations.md",
	})
}

// rebuilding adds an error, although an admin began the rebuild: clients wait until the admin ends it.
func rebuilding(s *Snapshot, add func(adminapi.Condition)) {
	if s.Rebuilding.IsZero() {
		return
	}
	add(adminapi.Condition{Code: Rebuilding, Severity: adminapi.SeverityError,
		Text:   "the namespace is being rebuilt, for " + age(s.Now.Sub(s.Rebuilding)) + " now: clients change nothing, and nothing is repaired",
		Remedy: "hemera ns rebuild when all nodes are there, then hemera ns rebuild finish"})
}

// wentBack adds a warning until all disks were searched for files that the namespace lost. During a rebuild, [Rebuilding]
// says more.
func wentBack(s *Snapshot, add func(adminapi.Condition)) {
	back := s.Namespace.WentBack
	if back.Restored.IsZero() || !s.Rebuilding.IsZero() {
		return
	}
	severity := adminapi.SeverityWarning
	if !back.Merged.IsZero() {
		severity = adminapi.SeverityInfo
	}
	add(adminapi.Condition{Code: WentBack, Severity: severity, Text: back.Text(), Remedy: back.Remedy()})
}

// backups finds a backup that is too old. Before the first backup, the time counts from when the manager began to record
// backups.
func backups(s *Snapshot, add func(adminapi.Condition)) {
	n, text := s.Namespace, ""
	switch {
	case n.Totals.Files == 0:
	case !n.LastBackup.IsZero() && s.Now.Sub(n.LastBackup) > backupMax:
		text = "the last backup of the manager was taken " + age(s.Now.Sub(n.LastBackup)) + " ago"
	case n.LastBackup.IsZero() && !n.BackupsSince.IsZero() && s.Now.Sub(n.BackupsSince) > backupMax:
		text = "no backup of the manager was taken for " + age(s.Now.Sub(n.BackupsSince))
	}
	if text != "" {
		add(adminapi.Condition{Code: BackupOld, Severity: adminapi.SeverityWarning, Text: text + "; without one, a lost disk of the manager loses all names",
			Remedy: "hemera ns backup DIR, daily, to another machine"})
	}
}

// quotas finds limits that are used up. An account that is still being counted is left out, as its usage is too low.
func quotas(s *Snapshot, add func(adminapi.Condition)) {
	// In the order of paths, so that the same quotas are named each time.
	over := slices.DeleteFunc(slices.Clone(s.Quotas), func(q hemera.QuotaRow) bool { return q.Counting || !exceeded(q) })
	slices.SortStableFunc(over, func(a, b hemera.QuotaRow) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	for i, q := range over {
		if i == quotasShown {
			add(adminapi.Condition{Code: QuotaExceeded, Severity: adminapi.SeverityWarning, Subject: "quota", Count: int64(len(over) - i),
				Text: count(int64(len(over)-i), "more limit is", "more limits are") + " used up", Remedy: "hemera quota ls shows all of them"})
			return
		}
		whose := q.Kind.String()
		if q.Kind != hemera.QuotaProject {
			whose += fmt.Sprintf(" %d", q.ID)
		}
		add(adminapi.Condition{Code: QuotaExceeded, Severity: adminapi.SeverityWarning, Subject: "quota " + q.Path + " " + whose,
			Text: fmt.Sprintf("the %s has used up a limit at %s, so writes there are refused", whose, q.Path), Remedy: "remove files, or raise it: hemera quota set",
		})
	}
}

// exceeded reports whether a limit is used up.
func exceeded(q hemera.QuotaRow) bool {
	up := func(used, limit int64) bool { return limit > 0 && used >= limit }
	return up(q.Used.Files, q.Limits.Files) || up(q.Used.Bytes, q.Limits.Bytes) || up(q.Used.Physical, q.Limits.Physical)
}
