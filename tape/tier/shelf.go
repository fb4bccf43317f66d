package tier

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"hemera/rules/layout"
	"hemera/tape/catalogue"
	"hemera/tape/gc"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Shelf answers what tape can give back, from tapes, keys and storage classes as of one moment. What removes disk copies,
// or promises that tape has them, asks it, so that all of them have one rule:
//
//	evict, release, dropdiskcopies, collector   all copies that the class asks for were read back, are on tapes that can be read, and that a
//	                                            library has reported since the manager started ([Shelf.missing])
//	no disk can give the file                   all copies are recorded, and one was read back and can be read ([Shelf.Gives])
//
// What is not known speaks against tape. It is safe for concurrent use.
type Shelf struct {
	tapes    map[hemera.VID]tapeapi.Tape // by VID
	keys     keyring
	inside   map[hemera.VID]string // see fleet.cartridges
	settings *tapeconfig.Settings  // nil: no class is known
	unread   bool                  // files that were not read back yet are not relied on

	mu    sync.Mutex     // guards asked
	asked map[string]int // by storage class; 0 for one that resolves to nothing
}

// Troubled returns the tapes that cannot be read until a person acts, by VID, with the reason and what to do. Their files are not counted.
func (s *Shelf) Troubled() (list []adminapi.TapeLoss) {
	for _, vid := range slices.Sorted(maps.Keys(s.tapes)) {
		if why, remedy := s.trouble(vid); why != "" {
			list = append(list, adminapi.TapeLoss{VID: vid, Why: why, Remedy: remedy})
		}
	}
	return list
}

// trouble says why a tape cannot be read until somebody acts, and what to do; "" for one that can be read. A key that is
// missing may be lost for ever.
func (s *Shelf) trouble(vid hemera.VID) (why, remedy string) {
	tape, known := s.tapes[vid]
	may, lock := tapeconfig.Permits(tape.State), s.keys.lock(tape.Key)
	_, inside := s.inside[vid]
	switch {
	case !known:
		return "tape " + string(vid) + " is not in the catalogue", "`hemera tape scan " + string(vid) + "` takes it into the catalogue"
	case may.Recall && may.Mount && lock.Key == "" && (inside || s.inside == nil):
		return "", ""
	case may.Recall && may.Mount && lock.Key == "":
		return "tape " + string(vid) + " is in no library", "put its cartridge into a library, see `hemera tape library ls`; or wait for another copy"
	case may.Recall && may.Mount:
		return fmt.Sprintf("tape %s needs key %s: %s", vid, lock.Key, lock.Why), "put the key back, see `hemera tape key ls`"
	}
	why = fmt.Sprintf("tape %s is %s", vid, tape.State)
	if tape.Reason != "" {
		why += " (" + tape.Reason + ")"
	}
	return why, tapeconfig.Remedy(&tape)
}

// file says of a file what the rule asks.
func (s *Shelf) file(e *hemera.Entry) gc.File {
	f := gc.File{ID: e.ID, Bytes: layout.Used(e.Layout, e.Size, e.Pieces), Asked: s.copiesOf(e.StorageClass()), Requests: catalogue.EvictCounter(e)}
	for _, c := range e.Tape {
		f.Copies = append(f.Copies, gc.Copy{Number: c.Number, VID: c.VID, Lost: !s.sure(c)})
	}
	return f
}

// sure reports whether a copy can be read, and is there as far as it is known: its tape waits for no scan, without which
// the tape may have something else by now, and the copy was read back if that is to be.
func (s *Shelf) sure(c hemera.TapeCopy) bool {
	why, _ := s.trouble(c.VID)
	return why == "" && s.tapes[c.VID].Unscanned == "" && !s.waits(c)
}

// waits reports whether a copy was not read back yet, and is to be.
func (s *Shelf) waits(c hemera.TapeCopy) bool {
	tape := s.tapes[c.VID]
	return s.unread && catalogue.Unread(&tape, c)
}

// copiesOf returns the number of copies that a storage class asks for; 0 for one that resolves to nothing.
func (s *Shelf) copiesOf(class string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.asked[class]; !known && s.settings != nil {
		pools, _ := s.settings.PoolsOf(class, 0)
		s.asked[class] = len(pools)
	}
	return s.asked[class]
}

// missing returns the error that says why tape is not enough for a file, so that its disk copies stay; nil when it is.
func (s *Shelf) missing(e *hemera.Entry) error {
	const op = "manager.Evict"
	f, subject := s.file(e), "fxid:"+e.ID.Hex()
	switch {
	case f.Asked == 0 || len(e.Tape) < f.Asked:
		return errs.New(errs.Conflict, op, subject, "not all its tape copies are there yet").
			WithRemedy("wait until it is archived: `hemera tape why PATH` says what that waits for, and `hemera tape archive PATH` has a file archived that is not queued")
	case s.inside == nil:
		return errs.New(errs.Conflict, op, subject, "its disk copies stay: no library has said which cartridges it has since the manager started").
			WithRemedy("see `hemera tape library ls`; a tape server reports within seconds")
	case gc.OnTapes(f) >= f.Asked:
		return nil
	}
	why, remedy := s.Trouble(e)
	for _, c := range e.Tape {
		if un := s.tapes[c.VID].Unscanned; why == "" && un != "" {
			why, remedy = "tape "+string(c.VID)+" waits for a scan: "+un, "`hemera tape scan "+string(c.VID)+"`"
		}
	}
	if why == "" {
		if at := slices.IndexFunc(e.Tape, s.waits); at >= 0 {
			return errs.New(errs.Conflict, op, subject, "its disk copies stay: its copy on tape "+string(e.Tape[at].VID)+" was not read back yet").
				WithRemedy("a drive does that by itself; `hemera tape why " + string(e.Tape[at].VID) + "` says what it waits for")
		}
		return errs.New(errs.Conflict, op, subject, "it has not each of its tape copies on a tape of its own").
			WithRemedy("a repack of one of the tapes moves its copy to another: `hemera tape why PATH` names them, `hemera tape repack VID` does it")
	}
	return errs.New(errs.Conflict, op, subject, "its disk copies stay: "+why).WithRemedy(remedy)
}

// Gives reports whether tape gives back a file that no disk can give: all copies were written, and of one it is sure that it can be
// read.
func (s *Shelf) Gives(e *hemera.Entry) bool {
	asked := s.copiesOf(e.StorageClass())
	return asked > 0 && len(e.Tape) >= asked && slices.ContainsFunc(e.Tape, s.sure)
}

// Trouble names the tapes of a file that cannot be read, with the reason, and says what to do about the first; "" if all can.
func (s *Shelf) Trouble(e *hemera.Entry) (why, remedy string) {
	var all []string
	for _, c := range e.Tape {
		is, then := s.trouble(c.VID)
		if is == "" {
			continue
		}
		if remedy == "" {
			remedy = then
		}
		all = append(all, is)
	}
	return strings.Join(slices.Compact(all), ", "), remedy
}

// Silent says why none of the tapes of a file can be read now; "" if one can, and of a file without tape copies.
func (s *Shelf) Silent(e *hemera.Entry) string {
	readable := func(c hemera.TapeCopy) bool { why, _ := s.trouble(c.VID); return why == "" }
	if slices.ContainsFunc(e.Tape, readable) {
		return ""
	}
	why, _ := s.Trouble(e)
	return why
}

// Faulty reports whether no tape of a file can be read, and each because something is wrong with it: none that a person has put aside for a while,
// or that is out of a library, is among them.
func (s *Shelf) Faulty(e *hemera.Entry) bool {
	return len(e.Tape) > 0 && !slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool {
		why, _ := s.trouble(c.VID)
		tape := s.tapes[c.VID]
		return why == "" || tape.Cause == "" && tape.State != tapeapi.Broken
	})
}
