package tier

import (
	"maps"
	"slices"
	"sync"
	"time"

	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Libraries and drives are not configured. Tape servers report them, and
// what is reported is what there is. An admin can put a drive down; a
// drive can put itself down, with its problem, and comes up again by
// itself. Both are shown.

// libraries has the reports of tape servers. Decisions and answers take them as a value, the fleet.
type libraries struct {
	clock func() time.Time

	// mu guards all below.
	mu     sync.Mutex
	all    map[hemera.NodeID]*library
	asking map[hemera.NodeID]string // nodes that are not admitted as tape servers, and their libraries
	heard  bool                     // of a library, since the start
}

func newLibraries(clock func() time.Time) *libraries {
	return &libraries{clock: clock, all: map[hemera.NodeID]*library{}, asking: map[hemera.NodeID]string{}}
}

// now returns what is reported as of this moment.
func (ls *libraries) now() fleet {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.fleet()
}

// fleet returns the libraries of now. The lock is held.
func (ls *libraries) fleet() fleet {
	return fleet{at: ls.clock(), heard: ls.heard, all: maps.Clone(ls.all), asking: maps.Clone(ls.asking)}
}

// ask notes that a node which is not admitted wants to be a tape server. There
// is one note for each node of the cluster at most.
func (ls *libraries) ask(node hemera.NodeID, library string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.asking[node] = library
}

// report takes what a tape server says, by a configuration. It returns the
// nodes whose silent libraries are forgotten, as this one has their name.
func (ls *libraries) report(node hemera.NodeID, state tapeapi.Library, by tapeconfig.Config) (gone []hemera.NodeID) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.heard = true
	// As a whole: what is not reported any more is not there.
	state.VIDs = maps.Clone(state.VIDs)
	l := &library{node: node, state: state, seen: ls.clock()}
	if was := ls.all[node]; was != nil {
		l.foreign = was.foreign
	}
	ls.all[node] = l
	now := ls.fleet()
	if l.clash, gone = now.clash(l, by); l.clash != "" {
		l.state.Problem, l.state.VIDs = l.clash, nil
	}
	for _, silent := range gone {
		delete(ls.all, silent)
		delete(now.all, silent)
	}
	l.doubled = now.doubled(l)
	for vid := range l.doubled {
		delete(l.state.VIDs, vid) // of this report's own map
	}
	return gone
}

// admitted notes the cartridges of a node's library that the catalogue has in another one.
func (ls *libraries) admitted(node hemera.NodeID, foreign map[hemera.VID]string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.asking, node)
	if was := ls.all[node]; was != nil {
		l := *was
		l.foreign = foreign
		ls.all[node] = &l
	}
}

// forget removes the libraries of nodes that left the cluster, and returns
// these nodes. They have no lease any more, so their libraries do not come back.
func (ls *libraries) forget(member func(hemera.NodeID) bool) (gone []hemera.NodeID) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for node := range ls.all {
		if !member(node) {
			delete(ls.all, node)
			gone = append(gone, node)
		}
	}
	return gone
}

// forgetDrive removes a drive from the lists, unless a library that is online
// has it: then it returns that library.
func (ls *libraries) forgetDrive(name string) *library {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	is := func(d tapeapi.DriveState) bool { return d.Name == name }
	now := ls.fleet()
	for _, l := range ls.all {
		if now.online(l) && slices.ContainsFunc(l.state.Drives, is) {
			return l
		}
	}
	for node, was := range ls.all {
		l := *was
		l.state.Drives = slices.DeleteFunc(slices.Clone(was.state.Drives), is)
		ls.all[node] = &l
	}
	return nil
}
