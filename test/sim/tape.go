package sim

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"hemera"
	"hemera/platform/tape/emulated"
	"hemera/services/manager"
	"hemera/test/sim/simtape"
)

// taping is the part of a plan that is about tape.
type taping struct {
	tape    bool
	devices int     // drives of the library
	pack    bool    // small files share tape files
	scale   float64 // of the time of devices
	drop    bool    // disk copies below some directories go as soon as all tape copies are there
}

// drawTape gives some plans a tape server. There is none where the manager's store goes back, as that knows less than tapes have, and none
// where drives vanish for good at the end: the judge of such losses does not know that files can be recalled.
func (p *plan) drawTape() {
	r := p.random("tape")
	switch {
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
	p.devices = 1 + r.IntN(2)
	p.pack = r.IntN(2) == 0
	p.scale = []float64{0.005, 0.02, 0.05}[r.IntN(3)]
	p.drop = r.IntN(2) == 0
	if p.sabotage == ForgetFlushes { // where power is cut often
		p.pack, p.scale = true, 0.005
	}
}

// ofTape reports whether the sabotage is one of the tape tier.
func (s Sabotage) ofTape() bool {
	switch s {
	case ForgetFlushes, EvictTooEarly, VoidFailures, ForgetRequests:
		return true
	}
	return false
}

// Storage classes of the simulation, by the number of their copies.
const (
	classOne = "default"
	classTwo = "double"
)

// copiesOf is how many copies on tape a class asks for.
func copiesOf(class string) int {
	switch class {
	case classOne:
		return 1
	case classTwo:
		return 2
	}
	return 0
}

// library is what outlives a tape server, and what its next life begins with.
type library struct {
	dir    string
	faults atomic.Pointer[emulated.Plan]
	fuse   simtape.Fuse
}

// addTapes gives the cluster a tape server and the configuration of its tapes.
func (w *world) addTapes(ctx context.Context) error {
	if w.taped = -1; !w.plan.tape {
		return nil
	}
	w.ledger = simtape.NewLedger()
	w.taped = 0
	w.tapes = &machine{w: w, host: tapeHost, addr: "tape:1095", state: filepath.Join(w.plan.dir, "tape"),
		library: &library{dir: filepath.Join(w.plan.dir, "library")}}
	w.tapes.library.faults.Store(&emulated.Plan{})
	if err := w.tapes.start(); err != nil {
		return err
	}
	<-w.tapes.life.Load().node.Joined()
	h := w.head.Load()
	changes := []hemera.TapeChange{
		{Object: "policy", Verb: "set", Name: "default", Values: map[string]string{"archiveMinRequestAge": "2", "retrieveMinRequestAge": "1"}},
		{Object: "mounting", Verb: "set", Name: "default", Values: map[string]string{"lingerSeconds": "5"}},
		{Object: "pool", Verb: "add", Name: "second", Values: map[string]string{"vo": "default"}},
		{Object: "class", Verb: "add", Name: classTwo, Values: map[string]string{"nbCopies": "2", "vo": "default"}},
		{Object: "route", Verb: "add", Name: classTwo + "/1", Values: map[string]string{"tapepool": "default"}},
		{Object: "route", Verb: "add", Name: classTwo + "/2", Values: map[string]string{"tapepool": "second"}},
	}
	for i := range simtape.Cartridges {
		changes = append(changes, hemera.TapeChange{Object: "tape", Verb: "add", Name: simtape.VID(i),
			Values: map[string]string{"tapepool": []string{"default", "second"}[i%2]}})
	}
	for _, c := range changes {
		if err := h.ChangeTape(ctx, "sim", c); err != nil {
			return fmt.Errorf("%s %s: %w", c.Object, c.Name, err)
		}
	}
	return nil
}

// setClasses has what is in the client's directories archived: once below the first, twice below the second, and what all share once. The
// client's later directories have no class: their files are archived when it asks for that.
func (c *client) setClasses(ctx context.Context) error {
	if !c.w.plan.tape {
		return nil
	}
	classes := map[string]string{c.dirs[0]: classOne, c.dirs[1]: classTwo, shared: classOne}
	for dir, class := range classes {
		attrs := map[string]string{hemera.AttrStorageClass: class}
		if c.w.plan.drop && dir == c.dirs[1] {
			attrs[hemera.AttrDropOnArchive] = "1"
		}
		for name, value := range attrs {
			_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
				return struct{}{}, m.SetXattr(ctx, hemera.SystemIdentity(), dir, name, []byte(value), false)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
