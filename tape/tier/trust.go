package tier

import (
	"slices"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// A tape server is a node of the cluster, and may be broken all the same.
// What it says counts for its own library: its drives, and the cartridges
// that it reports. A name that another library has already, of a library, a
// drive or a cartridge, is not its own. So a server cannot disable, fill or
// give files to the tapes of others, and gets grants for nothing but the
// files that its mounts were given.
//
// Libraries and tapes are those of the configuration and of the catalogue
// (admitted.go). Of what neither knows, the first library that reports a name
// has it until it does not report it any more, or falls silent.

// clash says what of a library belongs to another one, "" for nothing. A
// library or a drive whose name is taken makes all of the library unusable:
// decisions and people name them. A silent library whose name is taken over
// is forgotten. The lock is held.
func (t *configurer) clash(l *library) string {
	own, name := l.node.String(), l.state.Name
	if of := serverOf(t.settings(), name); of != "" && of != own {
		return "library " + name + " is that of node " + of + "; if this server has it now: hemera tape server rm " + of + ", then: hemera tape server set " + own + " library=" + name
	}
	if said := t.settings().Servers[own].Library; said != "" && said != name {
		return "the server of node " + own + " was admitted with library " + said + "; start it with --library " + said + ", or: hemera tape server set " + own + " library=" + name
	}
	for node, other := range t.libraries {
		if node == l.node || other.clash != "" {
			continue
		}
		shared := slices.IndexFunc(l.state.Drives, func(d hemera.TapeDriveState) bool {
			return slices.ContainsFunc(other.state.Drives, func(o hemera.TapeDriveState) bool { return o.Name == d.Name })
		})
		switch {
		case other.state.Name != l.state.Name && shared < 0:
		case !t.online(other):
			delete(t.libraries, node)
		case other.state.Name == l.state.Name:
			return "node " + node.String() + " has a library of this name; start one of them with another --library"
		default:
			return "library " + other.state.Name + " has a drive " + l.state.Drives[shared].Name + "; names of drives are unique in a cluster"
		}
	}
	return ""
}

// leaveOthers removes from what a library reports the cartridges that
// another one has, and returns them with its name. The lock is held.
func (t *configurer) leaveOthers(l *library) map[string]string {
	doubled := map[string]string{}
	for _, other := range t.libraries {
		if other == l || !t.online(other) {
			continue
		}
		for vid := range l.state.VIDs {
			if other.has(vid) {
				doubled[vid] = other.state.Name
				delete(l.state.VIDs, vid)
			}
		}
	}
	return doubled
}

// trusts checks that a report is about what its node has, Denied, and of a
// mount that its drive was given last, Conflict. It is Unavailable while the manager has not heard of the node's library yet,
// as after a restart: then the report comes again.
func (t *recorder) trusts(node hemera.NodeID, m *mount, r *hemera.TapeResults) error {
	refused := func(subject, why string) error { return errs.New(errs.Denied, "tier.TapeDone", subject, why) }
	if m != nil {
		// The mount names both: what it does was decided here.
		if r.Session.Drive == "" {
			r.Session.Drive = m.drive
		}
		switch {
		case r.VID != "" && r.VID != m.vid:
			return refused(r.VID, "the mount is one of tape "+m.vid)
		case r.Session.Drive != m.drive:
			return refused(r.Session.Drive, "the mount is one of drive "+m.drive)
		case len(r.Written) > 0 && m.kind != hemera.TapeArchive:
			return refused(r.VID, "the mount does not write files")
		}
		return nil
	}
	// A mount of before a restart, or one that ended: its record, and what the
	// library is now, decide.
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.libraries[node]
	given, known := t.issued[r.Mount]
	switch {
	case l == nil || l.state.Problem != "" && l.clash == "":
		return errs.New(errs.Unavailable, "tier.TapeDone", r.VID, "the library of the node is not known yet")
	case r.VID != "" && !l.has(r.VID):
		return refused(r.VID, "the tape is not in the library of the node")
	case r.Session.Drive != "" && !slices.ContainsFunc(l.state.Drives, func(d hemera.TapeDriveState) bool { return d.Name == r.Session.Drive }):
		return refused(r.Session.Drive, "the drive is not one of the node's library")
	case !known || given.Node != node:
		return errs.New(errs.Conflict, "tier.TapeDone", r.VID, "the mount is not one that this manager gave to the drive last").
			WithRemedy("nothing is lost: what was not recorded is done again by the next mount")
	case r.VID != "" && r.VID != given.VID:
		return refused(r.VID, "the mount is one of tape "+given.VID)
	case len(r.Written) > 0 && given.Job != hemera.TapeArchive:
		return refused(r.VID, "the mount does not write files")
	}
	return nil
}

// has reports whether the library has a cartridge.
func (l *library) has(vid string) bool {
	_, ok := l.state.VIDs[vid]
	return ok
}

// jobsOf reports what a mount was given. After a restart nobody knows: nil.
func (t *recorder) jobsOf(m *mount) func(hemera.TapeJobKey, uint64) bool {
	if m == nil {
		return nil
	}
	return func(k hemera.TapeJobKey, archiveID uint64) bool {
		j, ok := t.givenTo(m, k)
		return ok && j.ArchiveID == archiveID
	}
}
