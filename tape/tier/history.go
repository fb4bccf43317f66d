package tier

import (
	"slices"
	"time"

	"hemera/words/adminapi"
	"hemera/words/tapeapi"
)

// sessionsKept bounds the ended sessions that are remembered.
const sessionsKept = 200

// history is the sessions that ended lately, and the sums of all since the manager was started. The zero value is empty. It has no lock: its
// user has one.
type history struct {
	ended  []tapeapi.Session // newest first
	totals map[string][]adminapi.TapeTotals
}

// has reports whether a mount's session is known.
func (h *history) has(mount tapeapi.MountID) bool {
	return slices.ContainsFunc(h.ended, func(s tapeapi.Session) bool { return s.Mount == mount })
}

// add remembers a session that ended.
func (h *history) add(s tapeapi.Session) {
	// Newest first, as people read the list.
	h.ended = slices.Insert(h.ended, 0, s)
	h.ended = h.ended[:min(len(h.ended), sessionsKept)]
	if h.totals == nil {
		h.totals = map[string][]adminapi.TapeTotals{}
	}
	h.totals[s.Drive] = sumSessions(h.totals[s.Drive], s, 1)
}

// list returns the sessions without their courses, which would be too long for all of them.
func (h *history) list() []tapeapi.Session {
	// A copy: the picture leaves the lock.
	all := slices.Clone(h.ended)
	for i := range all {
		all[i].Course = nil
	}
	return all
}

// of returns the work of a drive: the sessions that ended, and the one under way.
func (h *history) of(d tapeapi.DriveState) []adminapi.TapeTotals {
	// A copy, because the session under way is not kept in the sums.
	all := slices.Clone(h.totals[d.Name])
	// The end of a session may be known before the drive reports that it does something else. It must not count twice: sums never fall.
	if d.Mount != 0 && d.Session.Mount == d.Mount && !h.has(d.Mount) {
		all = sumSessions(all, d.Session, 0)
	}
	return all
}

// session returns a session that ended lately.
func (h *history) session(mount tapeapi.MountID) (s tapeapi.Session, there bool) {
	at := slices.IndexFunc(h.ended, func(s tapeapi.Session) bool { return s.Mount == mount })
	if at < 0 {
		return s, false
	}
	return h.ended[at], true
}

// sumSessions adds a session to the sums of its kind.
func sumSessions(all []adminapi.TapeTotals, s tapeapi.Session, ended int64) []adminapi.TapeTotals {
	// Few kinds: a list is as quick as a map, and has an order.
	at := slices.IndexFunc(all, func(t adminapi.TapeTotals) bool { return t.Kind == s.Kind })
	if at < 0 {
		at, all = len(all), append(all, adminapi.TapeTotals{Kind: s.Kind})
	}
	// The session under way has not ended, and its figures grow.
	t := &all[at]
	t.Sessions, t.Files, t.Bytes, t.Failed = t.Sessions+ended, t.Files+s.Files, t.Bytes+s.Bytes, t.Failed+s.Failed
	t.BackHitches, t.Flushes, t.Elapsed = t.BackHitches+s.BackHitches, t.Flushes+s.Flushes, t.Elapsed+s.Elapsed
	t.Streaming += time.Duration(s.Streaming * float64(s.Elapsed))
	t.Disk, t.Network, t.Robot, t.Tape = t.Disk+s.Disk, t.Network+s.Network, t.Robot+s.Robot, t.Tape+s.Tape
	return all
}
