package tapeconfig

import (
	"fmt"
	"strings"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Needs returns the conditions of tapes that need a person: those that hold files and cannot be read, what their repacks leave, and full ones that
// hold none. inside are the cartridges that libraries have; nil: nobody knows.
func Needs(tapes []tapeapi.Tape, inside map[hemera.VID]string) (out []tapeapi.Attention) {
	var away []hemera.VID
	out = waiting(tapes)
	for i := range tapes {
		tape := &tapes[i]
		if tape.Inferred > 0 {
			out = append(out, tapeapi.Attention{Subject: "tape " + string(tape.VID), What: fmt.Sprintf("has %s that no directory has and whose removal nobody knows; "+
				"they come back, or a reclaim loses them by --lose", files(tape.Inferred)), Command: "hemera tape undelete --tape " + string(tape.VID)})
		}
		if _, there := inside[tape.VID]; !there && inside != nil && tape.State == tapeapi.Active && tape.Files > 0 {
			away = append(away, tape.VID)
		}
		switch {
		case tape.State == tapeapi.Disabled || tape.State == tapeapi.RepackingDisabled:
			out = append(out, tapeapi.Attention{Subject: "tape " + string(tape.VID), What: "is disabled: " + tape.Reason + aside(tape.Cause), Command: Command(tape)})
		case tape.State == tapeapi.Broken && tape.Files > 0:
			out = append(out, broken(tape))
		case tape.State == tapeapi.Active && tape.Full && tape.LastFSeq > 0 && tape.Files == 0 && tape.Inferred == 0 && tape.Unscanned == "":
			out = append(out, tapeapi.Attention{Subject: "tape " + string(tape.VID), What: "is full, and none of its files is in the tree any more", Command: "hemera tape reclaim " + string(tape.VID)})
		}
		if tape.Repack != nil {
			for _, l := range tape.Repack.Left {
				what := fmt.Sprintf("its repack leaves %s of class %s: %s", files(l.Files), l.Class, l.Why)
				out = append(out, tapeapi.Attention{Subject: "tape " + string(tape.VID), What: what, Command: "hemera tape repack ls"})
			}
		}
	}
	// One line for all: a library that was taken away had thousands.
	if len(away) > 0 {
		a := tapeapi.Attention{Subject: "tape " + string(away[0]), What: "has files and is in no library", Command: "hemera tape tape set " + string(away[0]) + " state=EXPORTED stateReason=WHERE"}
		if len(away) > 1 {
			a.What = fmt.Sprintf("and %d more with files are in no library", len(away)-1)
		}
		a.What += "; put the cartridge back, or say where it is"
		out = append(out, a)
	}
	return out
}

// Command returns the command that brings a tape that is not to be mounted back into use, by its problem.
func Command(t *tapeapi.Tape) string {
	set := "hemera tape tape set " + t.VID
	switch t.Cause {
	// A full tape is never written, so the tab may stay as it is.
	case tapeapi.WriteProtected:
		return string(set) + " full=true state=ACTIVE"
	case tapeapi.Encrypted:
		return "hemera tape key ls"
	case tapeapi.Mislabelled:
		return "hemera tape scan " + string(t.VID)
	}
	return string(set) + " state=ACTIVE"
}

// aside returns the advice for a person before the command, behind the reason.
func aside(cause tapeapi.Cause) string {
	switch cause {
	case tapeapi.WriteProtected:
		return "; have it read only, or move the tab of the cartridge and set it ACTIVE without full=true"
	case tapeapi.Encrypted:
		return "; put the key back, and set it ACTIVE"
	case tapeapi.Mislabelled:
		return "; find out which tape it is, and set it ACTIVE when it is the right one"
	case tapeapi.Unreadable:
		return "; clean the drive, or try another one"
	}
	return ""
}

// Remedy says how a tape that is not to be mounted is brought back into use, with what helps its files meanwhile.
func Remedy(t *tapeapi.Tape) string {
	command := "`" + Command(t) + "`"
	repack := "`hemera tape repack " + t.VID + "`"
	switch {
	case t.State == tapeapi.Broken && t.Repack == nil:
		return "if it can be read after all, " + command + "; else " + string(repack) + " moves the files that disks or other tapes have"
	case t.State == tapeapi.Broken:
		return "if it can be read after all, `" + again(t) + "`; `hemera tape repack ls` says what its repack could not move"
	case t.State == tapeapi.Exported:
		return "when it is in a library again, " + command + "; or wait for another copy"
	case t.Cause == tapeapi.WriteProtected:
		return command + " has it read and not written; or move the tab of its cartridge and set it ACTIVE alone"
	case t.Cause == tapeapi.Encrypted:
		return "put the key back, see " + command + ", and set the tape ACTIVE; or wait for another copy"
	case t.Cause == tapeapi.Mislabelled:
		return command + " says which tape it is: set it ACTIVE when it is the right one; or wait for another copy"
	}
	return "if it is good, " + command + "; else " + string(repack) + " moves its files, or wait for another copy"
}

// waiting returns the tapes that wait for a scan: one line for those that a life of the store before this one wrote, and one for each other.
func waiting(tapes []tapeapi.Tape) (out []tapeapi.Attention) {
	var old []hemera.VID
	for i := range tapes {
		switch tape := &tapes[i]; {
		case tape.Doubt != "":
			out = append(out, tapeapi.Attention{Subject: "tape " + string(tape.VID), What: "is read and not written until it was scanned: " + tape.Doubt, Command: "hemera tape scan " + string(tape.VID)})
		case tape.Unscanned != "":
			old = append(old, tape.VID)
		}
	}
	if len(old) == 0 {
		return out
	}
	return append(out, tapeapi.Attention{Subject: "tapes " + Names(old), What: "are read and not written until they were scanned: the store was restored or rebuilt", Command: "hemera tape scan --needed"})
}

// Names returns the first of a list of tapes, and the number of the others.
func Names(vids []hemera.VID) string {
	const listed = 5
	first := make([]string, 0, listed)
	for _, vid := range vids[:min(len(vids), listed)] {
		first = append(first, string(vid))
	}
	names := strings.Join(first, ", ")
	if len(vids) > listed {
		names += fmt.Sprintf(" and %d more", len(vids)-listed)
	}
	return names
}

// Strangers returns the conditions, for a person, of cartridges that the catalogue does not have, after the namespace went back: it may have lost
// their files. Beside a catalogue of a backup they may also be of others, so a person says which are scanned.
func Strangers(vids []hemera.VID, back hemera.WentBack) []tapeapi.Attention {
	if len(vids) == 0 {
		return nil
	}
	a := tapeapi.Attention{Subject: "cartridges " + Names(vids), What: "are not in the catalogue, and were not scanned since the namespace went back: files that only they have are not in the tree",
		Command: "hemera tape scan --all"}
	if !back.Taken.IsZero() {
		a.What, a.Command = a.What+"; scan those that were added after the backup", "hemera tape scan "+string(vids[0])
	}
	return []tapeapi.Attention{a}
}

// again brings a broken tape back into use, when it can be read after all. While its repack has files left it is not written.
func again(t *tapeapi.Tape) string {
	if t.Repack != nil && len(t.Repack.Left) > 0 {
		return "hemera tape tape set " + string(t.VID) + " full=true state=ACTIVE"
	}
	return Command(t)
}

// broken returns the advice for a person about a broken tape with files. A repack moves those that disks or other tapes give, and counts the others.
func broken(tape *tapeapi.Tape) tapeapi.Attention {
	a := tapeapi.Attention{Subject: "tape " + string(tape.VID), What: "is broken and has " + files(tape.Files), Command: "hemera tape repack " + string(tape.VID)}
	switch task := tape.Repack; {
	case task == nil:
		a.What += "; a repack moves those that disks or other tapes have; if it can be read after all, `" + Command(tape) + "`"
	case len(task.Left) == 0:
		a.What, a.Command = a.What+"; its repack is under way; if it can be read after all, `"+Command(tape)+"`", "hemera tape repack ls"
	default:
		a.What, a.Command = a.What+"; its repack cannot move them all; if it can be read after all, set it ACTIVE, and the repack goes on",
			again(tape)
	}
	return a
}

// files returns a number of files in words.
func files(n int64) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
