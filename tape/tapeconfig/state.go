package tapeconfig

import (
	"fmt"
	"slices"
	"strings"

	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// Permission has the uses of a tape that a state permits.
type Permission struct {
	Queue  bool // recalls may wait for it
	Mount  bool
	Write  bool // files may be archived to it
	Recall bool // its files may be read for users
	Repack bool // its files may be read to be written elsewhere
}

// Permits returns what a state permits; nothing for one that is unknown.
//
// A tape that is being repacked still serves recalls. CTA reads it for the repack alone; then files with one copy cannot be read for as long as
// the repack takes.
func Permits(state tapeapi.State) Permission {
	switch state {
	case tapeapi.Active:
		return Permission{Queue: true, Mount: true, Write: true, Recall: true}
	case tapeapi.Disabled, tapeapi.RepackingDisabled:
		return Permission{Queue: true}
	case tapeapi.Repacking:
		return Permission{Queue: true, Mount: true, Recall: true, Repack: true}
	}
	return Permission{} // BROKEN and EXPORTED: recalls take another copy, or fail
}

// Followers lists the states that may follow one. A tape that is not here (EXPORTED) comes back ACTIVE or DISABLED first.
func Followers(state tapeapi.State) []tapeapi.State {
	const (
		active, disabled, repacking = tapeapi.Active, tapeapi.Disabled, tapeapi.Repacking
		held, broken, exported      = tapeapi.RepackingDisabled, tapeapi.Broken, tapeapi.Exported
	)
	switch state {
	case active:
		return []tapeapi.State{disabled, repacking, broken, exported}
	case disabled:
		return []tapeapi.State{active, repacking, broken, exported}
	case repacking:
		return []tapeapi.State{active, disabled, held, broken, exported}
	case held:
		return []tapeapi.State{repacking, active, disabled, broken, exported}
	case broken:
		return []tapeapi.State{active, disabled, repacking, exported}
	case exported:
		return []tapeapi.State{active, disabled}
	}
	return nil
}

// CheckTransition says why a tape cannot go to another state, nil if it can. All states but ACTIVE need a reason; a tape is repacked when it
// is full, because its files are to move and none are to come.
func CheckTransition(t tapeapi.Tape, to tapeapi.State, reason string) error {
	const op = "tapeconfig.SetState"
	switch {
	case len(Followers(to)) == 0:
		return errs.New(errs.Invalid, op, string(t.VID), fmt.Sprintf("there is no state %q; there are %s", to, states(allStates())))
	// Said twice is said once.
	case to == t.State:
		return nil
	// Most often a held repack, or a tape that is not here.
	case !slices.Contains(Followers(t.State), to):
		return errs.New(errs.Invalid, op, string(t.VID), fmt.Sprintf("%s cannot follow %s", to, t.State)).
			WithRemedy("set one of these first: " + states(Followers(t.State)))
	case to != tapeapi.Active && strings.TrimSpace(reason) == "":
		return errs.New(errs.Invalid, op, string(t.VID), fmt.Sprintf("state %s needs a reason", to)).WithRemedy("say why: stateReason=TEXT")
	case to == tapeapi.Repacking && !t.Full:
		return errs.New(errs.Invalid, op, string(t.VID), "only a full tape is repacked").WithRemedy("close it first: hemera tape tape set " + string(t.VID) + " full=true")
	}
	return nil
}

// allStates lists the states in the order of a tape's life.
func allStates() []tapeapi.State {
	return []tapeapi.State{
		tapeapi.Active, tapeapi.Disabled, tapeapi.Repacking, tapeapi.RepackingDisabled, tapeapi.Broken, tapeapi.Exported,
	}
}

// states lists states in words.
func states(list []tapeapi.State) string {
	var names []string
	for _, s := range list {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
