package sim

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"hemera/manager"
	"hemera/tape/device/emulated"
	"hemera/test/sim/simtape"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// taping is the part of a plan that is about tape.
type taping struct {
	tape    bool
	devices int     // drives of the library
	pack    bool    // small files share tape files
	scale   float64 // of the time of devices
	back    bool    // near the end the namespace is lost, and made again from a backup that knows less than the tapes have
	reads   string  // which files are read back before disk copies go
	drop    bool    // disk copies below some directories go as soon as all tape copies are there
}

// drawTape gives some plans a tape server. There is none where the manager's store goes back while clients work, and none
// where drives vanish for good at the end: the judge of such losses does not know that files can be recalled.
func (p *plan) drawTape() {
	// A source of its own: older seeds keep what they had beside it.
	r := p.random("tape")
	switch {
	// What would keep the sabotage from being seen is left out.
	case p.sabotage.ofTape():
		p.stale, p.ruin, p.rot, p.stalls = false, false, false, false
		p.taping.tape = true
	case p.sabotage != Nothing || p.stale || p.ruin:
	default:
		p.taping.tape = r.IntN(4) != 0
	}
	if !p.taping.tape {
		return
	}
	// With one drive, archives and recalls of all tapes wait for each other.
	p.devices = 1 + r.IntN(2)
	p.pack = r.IntN(2) == 0
	// From a load that takes a tenth of a second to one of a second: a real one takes 16 s, which no load would outlast.
	p.scale = []float64{0.005, 0.02, 0.05}[r.IntN(3)]
	p.drop = r.IntN(2) == 0
	p.reads = []string{"always", "1", "3", "never"}[p.random("read back").IntN(4)]
	if p.sabotage == ForgetFlushes { // where power is cut often
		p.pack, p.scale = true, 0.005
	}
}

// ofTape reports whether the sabotage is one of the tape tier.
// Its plans have tape, and those of others have none.
func (s Sabotage) ofTape() bool {
	switch s {
	case ForgetFlushes, EvictTooEarly, VoidFailures, ForgetRequests, WriteOver:
		return true
	}
	return false
}

// library has the state that outlives a tape server, and with which its next life begins. Only the nemesis changes it,
// while lives come and go.
type library struct {
	dir    string
	faults atomic.Pointer[emulated.Plan]
	fuse   simtape.Fuse
}

// addTapes gives the cluster a tape server and the configuration of its tapes.
func addTapes(ctx context.Context, w *world) error {
	if w.taped = -1; !w.plan.tape {
		return nil
	}
	// It counts from nothing: -1 says that there was no tape.
	w.ledger = simtape.NewLedger()
	w.taped = 0
	w.tapes = &machine{w: w, host: tapeHost, addr: "tape:1095", state: filepath.Join(w.plan.dir, "tape"),
		library: &library{dir: filepath.Join(w.plan.dir, "library")}}
	w.tapes.library.faults.Store(&emulated.Plan{})
	if err := w.tapes.start(); err != nil {
		return err
	}
	// Before the rogue joins: numbers of nodes follow the order of machines, which have drives.
	<-w.tapes.life.Load().node.Joined()
	h := w.head.Load()
	server := adminapi.TapeChange{Object: "server", Verb: "add", Name: w.tapes.life.Load().node.ID().String()}
	back := adminapi.TapeChange{Object: "mounting", Verb: "set", Name: "default", Values: map[string]string{"readBack": w.plan.reads}}
	for _, c := range append(simtape.Configuration(), server, back) {
		if err := h.Tape.ChangeTape(ctx, "sim", c); err != nil {
			return fmt.Errorf("%s %s: %w", c.Object, c.Name, err)
		}
	}
	return nil
}

// setClasses has what is in the client's directories archived: once below the first, twice below the second, and what all share once. The
// client's later directories have no class: their files are archived when it asks for that.
func setClasses(ctx context.Context, c *client) error {
	if !c.w.plan.tape {
		return nil
	}
	// Attributes move with their directories, so a rename takes the class along.
	classes := map[string]string{c.dirs[0]: simtape.ClassOne, c.dirs[1]: simtape.ClassTwo, shared: simtape.ClassOne}
	for dir, class := range classes {
		attrs := map[string]string{hemera.AttrStorageClass: class}
		if c.w.plan.drop && dir == c.dirs[1] {
			attrs[hemera.AttrDropOnArchive] = "1"
		}
		// As the system: a class is what an admin decides. Twice the same is no change.
		for name, value := range attrs {
			_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
				return struct{}{}, m.Attributes.SetXattr(ctx, hemera.SystemIdentity(), dir, name, []byte(value), false)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
