package tier

import (
	"slices"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
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

// trusts checks that a report is about what its node has, Denied, and of a
// mount that its drive was given last, Conflict. It is Unavailable while the manager has not heard of the node's library yet,
// as after a restart: then the report comes again.
func (t *recorder) trusts(node hemera.NodeID, m *mount, r *tapeapi.Results) error {
	refused := func(subject, why string) error { return errs.New(errs.Denied, "tier.TapeDone", subject, why) }
	if m != nil {
		// The mount names both: what it does was decided here.
		if r.Session.Drive == "" {
			r.Session.Drive = m.drive
		}
		switch {
		case r.VID != "" && r.VID != m.vid:
			return refused(string(r.VID), "the mount is one of tape "+string(m.vid))
		case r.Session.Drive != m.drive:
			return refused(r.Session.Drive, "the mount is one of drive "+m.drive)
		case len(r.Written) > 0 && m.kind != tapeapi.Archive:
			return refused(string(r.VID), "the mount does not write files")
		}
		return nil
	}
	// A mount of before a restart, or one that ended: its record, and what the
	// library is now, decide.
	l := t.libraries.now().all[node]
	given, known := t.issued.of(r.Mount)
	switch {
	case l == nil || l.state.Problem != "" && l.clash == "":
		return errs.New(errs.Unavailable, "tier.TapeDone", string(r.VID), "the library of the node is not known yet")
	case r.VID != "" && !l.has(r.VID):
		return refused(string(r.VID), "the tape is not in the library of the node")
	case r.Session.Drive != "" && !slices.ContainsFunc(l.state.Drives, func(d tapeapi.DriveState) bool { return d.Name == r.Session.Drive }):
		return refused(r.Session.Drive, "the drive is not one of the node's library")
	case !known || given.Node != node:
		return errs.New(errs.Conflict, "tier.TapeDone", string(r.VID), "the mount is not one that this manager gave to the drive last").
			WithRemedy("nothing is lost: what was not recorded is done again by the next mount")
	case r.VID != "" && r.VID != given.VID:
		return refused(string(r.VID), "the mount is one of tape "+string(given.VID))
	case len(r.Written) > 0 && given.Job != tapeapi.Archive:
		return refused(string(r.VID), "the mount does not write files")
	}
	return nil
}

// jobsOf reports what a mount was given. After a restart nobody knows: nil.
func (t *recorder) jobsOf(m *mount) func(tapeapi.JobKey, uint64) bool {
	if m == nil {
		return nil
	}
	return func(k tapeapi.JobKey, archiveID uint64) bool {
		j, ok := t.mounts.job(m, k)
		return ok && j.ArchiveID == archiveID
	}
}
