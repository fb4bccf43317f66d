package tier

import (
	"maps"
	"slices"
	"time"

	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// fleet is the libraries and drives as they were reported, as of one moment.
// It is a value: what decides about drives and what people see gets one.
type fleet struct {
	at     time.Time
	heard  bool // of a library, since the start
	all    map[hemera.NodeID]*library
	asking map[hemera.NodeID]string
}

// library is the last report of a tape server on its library. It does not change: another report makes another one.
type library struct {
	node  hemera.NodeID
	state tapeapi.Library
	seen  time.Time
	// clash names the part of it that another library has, "" for nothing: with a clash it is not used. doubled are the
	// cartridges that another one reports, with its name.
	clash   string
	doubled map[hemera.VID]string
	// foreign are those that the catalogue has in another library, with its name.
	foreign map[hemera.VID]string
}

// silent is after what time without a report a library counts as gone.
const silent = 35 * time.Second

// online reports whether the server of a library reported a short time
// ago, and did not say that it ends.
func (f fleet) online(l *library) bool { return !l.state.Ended && f.at.Sub(l.seen) < silent }

// gone says why a library is not online.
func (f fleet) gone(l *library) string {
	if l.state.Ended {
		return "its server, node " + l.node.String() + ", has ended"
	}
	return "its server, node " + l.node.String() + ", has been silent for " + f.at.Sub(l.seen).Round(time.Second).String()
}

// remedyOfNode says how a library comes back whose server is gone, or leaves
// the lists.
func remedyOfNode(node hemera.NodeID) string {
	return "start its server again, or take it out of the cluster for good: hemera node rm " + node.String()
}

// has reports whether the library has a cartridge.
func (l *library) has(vid hemera.VID) bool {
	_, ok := l.state.VIDs[vid]
	return ok
}

// drive finds a drive of a node; ok is false if no report had it.
func (f fleet) drive(node hemera.NodeID, name string) (l *library, state tapeapi.DriveState, ok bool) {
	if l = f.all[node]; l == nil {
		return nil, state, false
	}
	at := slices.IndexFunc(l.state.Drives, func(d tapeapi.DriveState) bool { return d.Name == name })
	if at < 0 {
		return nil, state, false
	}
	return l, l.state.Drives[at], true
}

// libraryOf finds the library with a cartridge, nil when none has it.
func (f fleet) libraryOf(vid hemera.VID) *library {
	for _, l := range f.all {
		if l.has(vid) && f.online(l) {
			return l
		}
	}
	return nil
}

// elsewhere returns another library that reports a cartridge, or "".
func (f fleet) elsewhere(node hemera.NodeID, vid hemera.VID) string {
	for of, l := range f.all {
		if of != node && f.online(l) && l.has(vid) {
			return l.state.Name
		}
	}
	return ""
}

// cartridges returns the cartridges of all libraries, also of one whose server is away for a while, but not of one that was removed; nil when none
// was heard of since the start.
func (f fleet) cartridges() (all map[hemera.VID]string) {
	if f.heard {
		all = map[hemera.VID]string{}
	}
	for _, l := range f.all {
		maps.Copy(all, l.state.VIDs)
	}
	return all
}

// mountable returns the tapes of all libraries whose servers report: others could not be mounted.
func (f fleet) mountable() []hemera.VID {
	all := map[hemera.VID]bool{}
	for _, l := range f.all {
		for vid := range l.state.VIDs {
			if f.online(l) && vid != "" {
				all[vid] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// slowest returns the speed of the slowest library, as emulated ones have it: real ones beside them take the time of real
// ones.
func (f fleet) slowest() (speed int) {
	for _, l := range f.all {
		if is := max(1, l.state.Speed); speed == 0 || is < speed {
			speed = is
		}
	}
	return speed
}

// serverOf returns the server that has a library, or "".
func serverOf(c tapeconfig.Config, library string) string {
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if c.Servers[name].Library == library {
			return name
		}
	}
	return ""
}

// clash says what of a library belongs to another one, "" for nothing. A
// library or a drive whose name is taken makes all of the library unusable:
// decisions and people name them. Silent libraries whose names are taken over
// are to be forgotten.
func (f fleet) clash(l *library, by tapeconfig.Config) (text string, forget []hemera.NodeID) {
	own, name := l.node.String(), l.state.Name
	if of := serverOf(by, name); of != "" && of != own {
		return "library " + name + " is that of node " + of + "; if this server has it now: hemera tape server rm " + of + ", then: hemera tape server set " + own + " library=" + name, nil
	}
	if said := by.Servers[own].Library; said != "" && said != name {
		return "the server of node " + own + " was admitted with library " + said + "; start it with --library " + said + ", or: hemera tape server set " + own + " library=" + name, nil
	}
	for node, other := range f.all {
		if node == l.node || other.clash != "" {
			continue
		}
		shared := slices.IndexFunc(l.state.Drives, func(d tapeapi.DriveState) bool {
			return slices.ContainsFunc(other.state.Drives, func(o tapeapi.DriveState) bool { return o.Name == d.Name })
		})
		switch {
		case other.state.Name != l.state.Name && shared < 0:
		case !f.online(other):
			forget = append(forget, node)
		case other.state.Name == l.state.Name:
			return "node " + node.String() + " has a library of this name; start one of them with another --library", forget
		default:
			return "library " + other.state.Name + " has a drive " + l.state.Drives[shared].Name + "; names of drives are unique in a cluster", forget
		}
	}
	return "", forget
}

// doubled returns the cartridges of a library that another one has, with its name.
func (f fleet) doubled(l *library) map[hemera.VID]string {
	doubled := map[hemera.VID]string{}
	for _, other := range f.all {
		if other.node == l.node || !f.online(other) {
			continue
		}
		for vid := range l.state.VIDs {
			if other.has(vid) {
				doubled[vid] = other.state.Name
			}
		}
	}
	return doubled
}

// describe fills in what libraries say of a new tape: where it is, and its
// media type.
func (f fleet) describe(tape *tapeapi.Tape) {
	tape.MediaType = mediaUsual
	// A tape may be named before its cartridge is in a library.
	for _, l := range f.all {
		if media, ok := l.state.VIDs[tape.VID]; ok {
			tape.Library = l.state.Name
			if media != "" {
				tape.MediaType = media
			}
		}
	}
}

// mediaUsual is the media type of a tape that nobody says one of.
const mediaUsual = "LTO-9"
