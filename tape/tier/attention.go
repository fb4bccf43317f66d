package tier

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// attention lists the conditions that need a person.
func (t *reporter) attention(f facts) (out []tapeapi.Attention) {
	scans := t.scans.list()
	out = append(locked(f), mistaken(f)...)
	out = append(out, tapeconfig.Needs(f.tapes, f.fleet.cartridges())...)
	out = append(out, tapeconfig.Strangers(strangers(f, scans), f.back)...)
	// Jobs that failed for good wait for a person, whatever failed.
	for _, q := range f.queues {
		if _, _, held := catalogue.HeldBy(q.Name); q.Failed && !held {
			out = append(out, tapeapi.Attention{Subject: q.Kind.String() + " " + q.Name, What: fmt.Sprintf("%d jobs have failed", q.Files), Command: "hemera tape request ls --failed"})
		}
	}
	// Those that read a tape and failed twice have users that wait.
	for _, q := range f.paused {
		if q.Kind == tapeapi.Recall && q.first.Attempts >= blockedAfter {
			out = append(out, tapeapi.Attention{Subject: "tape " + q.Name, What: fmt.Sprintf("%s for its next attempt, the first one has failed %d times: %s",
				count(q.Files, "recall waits", "recalls wait"), q.first.Attempts, q.first.Error), Command: "hemera tape request ls"})
		}
	}
	// Files that no pool takes have no queue that a drive could serve.
	for _, h := range heldOf(f.settings.Config, f) {
		out = append(out, tapeapi.Attention{Subject: "class " + h.Class, What: fmt.Sprintf("%s: %s", count(h.Files, "file is not queued for tape", "files are not queued for tape"), h.Why),
			Command: h.Command})
	}
	for _, l := range f.fleet.all {
		if !f.fleet.online(l) {
			out = append(out, tapeapi.Attention{Subject: "library " + l.state.Name, What: f.fleet.gone(l) + "; start it again, or take it out of the cluster for good",
				Command: "hemera node rm " + l.node.String()})
			continue
		}
		if l.state.Problem != "" {
			out = append(out, tapeapi.Attention{Subject: "library " + l.state.Name + " of node " + l.node.String(), What: l.state.Problem, Command: "hemera tape library ls"})
		}
		for vid, other := range l.doubled {
			out = append(out, tapeapi.Attention{Subject: "cartridge " + string(vid), What: "is reported by the libraries " + other + ", which is believed, and " + l.state.Name,
				Command: "hemera tape library ls"})
		}
		for _, d := range l.state.Drives {
			if d.Problem != "" {
				out = append(out, tapeapi.Attention{Subject: "drive " + d.Name, What: d.Problem, Command: "hemera tape why " + d.Name})
			}
		}
	}
	out = append(append(append(out, t.stuck(f)...), failedScans(scans)...), t.unadmitted(f)...)
	slices.SortFunc(out, func(a, b tapeapi.Attention) int { return strings.Compare(a.Subject, b.Subject) })
	return out
}

// strangers returns the cartridges of libraries that the catalogue does not have, and that no scan has read since the namespace went back: it may
// have lost their files. None while it did not go back.
func strangers(f facts, scans []listedScan) []hemera.VID {
	if f.back.Restored.IsZero() {
		return nil
	}
	known := map[hemera.VID]bool{}
	for i := range f.tapes {
		known[f.tapes[i].VID] = true
	}
	return slices.DeleteFunc(f.fleet.mountable(), func(vid hemera.VID) bool {
		if known[vid] {
			return true
		}
		s, there := scanOf(scans, vid)
		return there && s.Ended.After(f.back.Restored) && s.Problem == "" && !s.DryRun
	})
}

// Unscanned lists the tapes in libraries whose files the namespace may have lost when it went back, as no scan has read them since, and the
// command that scans them. Of cartridges that the catalogue does not have it lists those of a namespace that was made again without a backup:
// that one knew no tape.
func (t *reporter) Unscanned(ctx context.Context) (vids []hemera.VID, command string, err error) {
	f, err := t.inventory.facts(ctx)
	if err != nil {
		return nil, "", err
	}
	f.back = t.env.Tree.Stats().WentBack
	if f.back.Taken.IsZero() {
		vids = strangers(f, t.scans.list())
	}
	command = "hemera tape scan --needed"
	if len(vids) > 0 {
		command = "hemera tape scan --all"
	}
	// Those of a server that is away count, and all while none was heard of: it may be there in a moment.
	inside := f.fleet.cartridges()
	for i := range f.tapes {
		tape := &f.tapes[i]
		_, there := inside[tape.VID]
		// What a scan left in doubt is for a person to settle, and is known.
		if tape.Unscanned != "" && tape.Doubt == "" && (there || inside == nil) {
			vids = append(vids, tape.VID)
		}
	}
	slices.Sort(vids)
	return vids, command, nil
}

// waitForScan counts the tapes of a pool and its supply pools that could be written, were they scanned.
func waitForScan(f facts, pool tapeapi.PoolName) (n int64) {
	pools := append(f.settings.Config.Pools[string(pool)].Supplies(), pool)
	for i := range f.tapes {
		tape := &f.tapes[i]
		if tape.Unscanned != "" && !tape.Full && tapeconfig.Permits(tape.State).Write && slices.Contains(pools, tape.Pool) {
			n++
		}
	}
	return n
}

// stuck returns the queues that no drive will ever serve unless an admin acts.
func (t *reporter) stuck(f facts) (out []tapeapi.Attention) {
	picture := t.mounts.look(f)
	board := mounting.New(picture)
	// The first reason is the one nearest to a start: if that needs a person,
	// all others do too.
	for _, q := range picture.Queues {
		first := board.Explain(q.Key).Reasons[0]
		command := ""
		switch first.Rule {
		case mounting.LibraryDisabled:
			command = typed(first.Remedy)
		case mounting.DriveLimit:
			// Other limits are reached for a while: a drive becomes free.
			limits := f.settings.Config.Organisations[q.Organisation]
			if q.Writes() && limits.WriteDrives == 0 || !q.Writes() && limits.ReadDrives == 0 {
				command = typed(first.Remedy)
			}
		case mounting.DriveDown:
			first.Text, command = putDown(f, q.Key, first)
		case mounting.NoTape:
			command = "hemera tape tape add VID tapepool=" + string(q.Pool)
			if n := waitForScan(f, q.Pool); n > 0 {
				first.Text, command = fmt.Sprintf("%s of pool %s may be written after a scan, and no other can be", count(n, "tape", "tapes"), q.Pool), "hemera tape scan --needed"
			}
		case mounting.OtherLibrary, mounting.Media, mounting.TapeUnknown:
			command = "hemera tape why " + string(q.Pool) + string(q.VID)
		}
		if command != "" {
			out = append(out, tapeapi.Attention{Subject: q.Key.String(), What: fmt.Sprintf("%s: %s", count(q.Files, "file waits", "files wait"), first.Text), Command: command})
		}
	}
	return out
}

// putDown says which drives that could serve a queue a person has put down,
// and how they are put up again; "" where there is none. What else keeps a
// drive down has a line of its own in the list, or ends by itself.
func putDown(f facts, q mounting.Key, why mounting.Reason) (text, command string) {
	// No tape server ever came, and no other line says so.
	if len(f.fleet.all) == 0 {
		return why.Text, typed(why.Remedy)
	}
	var names []string
	of := f.fleet.libraryOf(q.VID) // nil of queues that write
	for _, l := range f.fleet.all {
		for _, state := range l.state.Drives {
			if down := f.settings.Config.DrivesDown[state.Name]; down != "" && f.fleet.online(l) && (of == nil || of == l) {
				names = append(names, state.Name)
				text = "drive " + state.Name + " is down: " + down
			}
		}
	}
	// All are down by themselves, and are probed until they work.
	if len(names) == 0 {
		return why.Text, ""
	}
	slices.Sort(names)
	// A site has tens of drives: numbers tell more than names.
	const namesMax = 3
	switch more := len(names) - namesMax; {
	case more > 0:
		text = fmt.Sprintf("drives %s and %d more are down", strings.Join(names[:namesMax], ", "), more)
	case len(names) > 1:
		text = "drives " + strings.Join(names, ", ") + " are down"
	}
	return text, "hemera tape drive up " + names[0]
}

// failedScans returns the scans that need a person.
func failedScans(scans []listedScan) (out []tapeapi.Attention) {
	for _, s := range scans {
		if s.Problem != "" && !s.cancelled {
			out = append(out, tapeapi.Attention{Subject: "tape " + string(s.VID), What: "its scan failed: " + s.Problem, Command: "hemera tape scan " + string(s.VID)})
		}
	}
	return out
}

// scanOf finds the scan of a tape in a list.
func scanOf(scans []listedScan, vid hemera.VID) (s listedScan, there bool) {
	at := slices.IndexFunc(scans, func(s listedScan) bool { return s.VID == vid })
	if at < 0 {
		return s, false
	}
	return scans[at], true
}

// mistaken returns the tapes whose cartridge is of another kind than the catalogue says: it has another capacity, and
// other drives take it. Kinds are told apart by their density, as a site may have names of its own.
func mistaken(f facts) (out []tapeapi.Attention) {
	for _, tape := range f.tapes {
		l := f.fleet.libraryOf(tape.VID)
		if l == nil {
			continue
		}
		kind := l.state.VIDs[tape.VID]
		is, said := f.settings.Config.Media[kind], f.settings.Config.Media[tape.MediaType]
		if is.Density == 0 || said.Density == 0 || is.Density == said.Density {
			continue
		}
		out = append(out, tapeapi.Attention{Subject: "tape " + string(tape.VID), What: "its cartridge is of media type " + kind + ", and the catalogue says " + tape.MediaType,
			Command: fmt.Sprintf("hemera tape tape set %s mediaType=%q capacity=%d", tape.VID, kind, int64(is.Capacity))})
	}
	return out
}

// unadmitted lists the nodes that want to be tape servers and are not admitted, and the cartridges in another library
// than the catalogue says.
func (t *reporter) unadmitted(f facts) (out []tapeapi.Attention) {
	for node, library := range f.fleet.asking {
		if t.env.View != nil {
			if _, member := t.env.View().Node(node); !member {
				continue
			}
		}
		if _, ok := f.settings.Config.Servers[node.String()]; !ok {
			out = append(out, tapeapi.Attention{Subject: "node " + node.String(), What: fmt.Sprintf("wants to be the tape server of library %s, and is not admitted", library),
				Command: "hemera tape server add " + node.String()})
		}
	}
	for _, l := range f.fleet.all {
		for vid, of := range l.foreign {
			out = append(out, tapeapi.Attention{Subject: "cartridge " + string(vid), What: fmt.Sprintf("is in library %s, and the catalogue has it in %s", l.state.Name, of),
				Command: "hemera tape tape set " + string(vid) + " logicalLibrary=" + l.state.Name})
		}
	}
	return out
}

// locked lists the keys that need a person: those that cannot be used, and the tapes and queues that wait for them.
func locked(f facts) (out []tapeapi.Attention) {
	for _, name := range slices.Sorted(maps.Keys(f.settings.Config.Keys)) {
		row := keyRow(name, f.settings.Config, f.keys, f.tapes)
		if row.Problem == "" || row.Tapes == 0 && len(row.Pools) == 0 {
			continue
		}
		what := fmt.Sprintf("cannot be used: %s; %d tapes with %d files are not mounted", row.Problem, row.Tapes, row.Files)
		if len(row.Pools) > 0 {
			what += ", and no tape is begun for " + strings.Join(row.Pools, ", ")
		}
		out = append(out, tapeapi.Attention{Subject: "key " + name, What: what, Command: "hemera tape key add " + name + " --from FILE"})
	}
	return out
}
