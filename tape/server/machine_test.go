package server

import (
	"math/rand/v2"
	"testing"
	"time"

	"hemera/tape/device"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TestMachine walks a drive through what can happen to it.
func TestMachine(t *testing.T) {
	work := func(vid hemera.VID) tapeapi.Mount {
		return tapeapi.Mount{ID: 7, Kind: tapeapi.MountWork, Job: tapeapi.Archive, VID: vid}
	}
	unload := tapeapi.Mount{Kind: tapeapi.MountUnload}
	for _, c := range []struct {
		name  string
		from  machine
		event func(machine) machine
		phase phase
		vid   hemera.VID
		mount string // VID of what is to be done
	}{
		{"an empty drive asks", machine{}, func(m machine) machine { return m.probed("", outcome{}) }, idle, "", ""},
		{"what is in a drive at start is carried away", machine{}, func(m machine) machine { return m.probed("V00001", outcome{}) }, unloading, "V00001", ""},
		{"a drive that does not answer is down", machine{}, func(m machine) machine { return m.probed("", outcome{fault: driveFault, problem: "x"}) }, down, "", ""},
		{"nothing to do", machine{phase: idle}, func(m machine) machine { return m.asked(tapeapi.Mount{}, outcome{}) }, idle, "", ""},
		{"a mount", machine{phase: idle}, func(m machine) machine { return m.asked(work("V00001"), outcome{}) }, fetching, "", "V00001"},
		{"the same tape stays", machine{phase: idle, vid: "V00001"}, func(m machine) machine { return m.asked(work("V00001"), outcome{}) }, working, "V00001", "V00001"},
		{"another tape goes first", machine{phase: idle, vid: "V00002"}, func(m machine) machine { return m.asked(work("V00001"), outcome{}) }, unloading, "V00002", "V00001"},
		{"unload", machine{phase: idle, vid: "V00002"}, func(m machine) machine { return m.asked(unload, outcome{}) }, unloading, "V00002", ""},
		{"unload of nothing", machine{phase: idle}, func(m machine) machine { return m.asked(unload, outcome{}) }, idle, "", ""},
		{"no manager", machine{phase: idle, vid: "V00002"}, func(m machine) machine { return m.asked(tapeapi.Mount{}, outcome{fault: askFault}) }, idle, "V00002", ""},
		{"unloaded, with a mount", machine{phase: unloading, vid: "V00002", mount: work("V00001")}, func(m machine) machine { return m.unloaded(outcome{}) }, fetching, "", "V00001"},
		{"unloaded", machine{phase: unloading, vid: "V00002"}, func(m machine) machine { return m.unloaded(outcome{}) }, idle, "", ""},
		{"stuck, with a mount", machine{phase: unloading, vid: "V00002", mount: work("V00001")}, func(m machine) machine { return m.unloaded(outcome{fault: driveFault, problem: "stuck"}) }, ending, "V00002", "V00001"},
		{"stuck", machine{phase: unloading, vid: "V00002"}, func(m machine) machine { return m.unloaded(outcome{fault: driveFault, problem: "stuck"}) }, unloading, "V00002", ""},
		{"stuck again and again", machine{phase: unloading, vid: "V00002", failures: unloadTries - 1}, func(m machine) machine { return m.unloaded(outcome{fault: driveFault, problem: "stuck"}) }, down, "V00002", ""},
		{"carried", machine{phase: fetching, mount: work("V00001")}, func(m machine) machine { return m.fetched(outcome{}) }, loading, "V00001", "V00001"},
		{"no such cartridge", machine{phase: fetching, mount: work("V00001")}, func(m machine) machine { return m.fetched(outcome{fault: tapeFault, problem: "x"}) }, ending, "", "V00001"},
		{"ready", machine{phase: loading, vid: "V00001", mount: work("V00001")}, func(m machine) machine { return m.loaded(outcome{}) }, working, "V00001", "V00001"},
		{"a cartridge that does not load", machine{phase: loading, vid: "V00001", mount: work("V00001")}, func(m machine) machine { return m.loaded(outcome{fault: tapeFault, problem: "x"}) }, ending, "V00001", "V00001"},
		{"a session ends, and the tape stays", machine{phase: working, vid: "V00001", mount: work("V00001")}, func(m machine) machine { return m.worked(outcome{}) }, idle, "V00001", ""},
		{"a tape that cannot be used", machine{phase: working, vid: "V00001", mount: work("V00001")}, func(m machine) machine { return m.worked(outcome{fault: tapeFault, problem: "x"}) }, unloading, "V00001", ""},
		{"a drive that breaks", machine{phase: working, vid: "V00001", mount: work("V00001")}, func(m machine) machine { return m.worked(outcome{fault: driveFault, problem: "x"}) }, down, "V00001", ""},
		{"a lease that ends", machine{phase: working, vid: "V00001", mount: work("V00001")}, func(m machine) machine { return m.worked(outcome{fault: askFault, problem: "x"}) }, idle, "V00001", ""},
		{"after a pause", machine{phase: down, vid: "V00001"}, func(m machine) machine { return m.rested() }, probing, "V00001", ""},
		{"the end is known", machine{phase: ending, then: down, mount: work("V00001")}, func(m machine) machine { return m.ended() }, down, "", ""},
	} {
		got := c.event(c.from)
		if got.phase != c.phase || got.vid != c.vid || got.mount.VID != hemera.VID(c.mount) {
			t.Errorf("%s: phase %d with %q, to do %q; want %d with %q, to do %q", c.name, got.phase, got.vid, got.mount.VID, c.phase, c.vid, c.mount)
		}
	}
}

// TestPauses: they grow, are bounded, and begin again after a success.
func TestPauses(t *testing.T) {
	m, last := machine{}, time.Duration(0)
	for range 40 {
		m = m.probed("", outcome{fault: driveFault, problem: "x"})
		if m.wait < last || m.wait > pauseMax || m.wait <= 0 {
			t.Fatalf("a pause of %v after one of %v", m.wait, last)
		}
		last = m.wait
		m = m.rested()
	}
	if last != pauseMax {
		t.Errorf("the longest pause is %v", last)
	}
	m = m.probed("", outcome{}).asked(tapeapi.Mount{ID: 1, Kind: tapeapi.MountWork, VID: "V00001"}, outcome{})
	m = m.fetched(outcome{}).loaded(outcome{}).worked(outcome{})
	if m = m.worked(outcome{fault: driveFault, problem: "x"}); m.wait != pauseMin {
		t.Errorf("the first pause after a success is %v", m.wait)
	}
	// A drive whose cartridges can be carried away still breaks in each mount: that is no success.
	for want := 2 * pauseMin; want < pauseMax; want *= 2 {
		m = m.rested().probed("V00001", outcome{}).unloaded(outcome{}).asked(tapeapi.Mount{ID: 2, Kind: tapeapi.MountWork, VID: "V00001"}, outcome{})
		if m = m.fetched(outcome{}).loaded(outcome{}).worked(outcome{fault: driveFault, problem: "x"}); m.wait != want {
			t.Errorf("a pause of %v, want %v", m.wait, want)
		}
	}
}

// TestMachineLosesNoMount: whatever happens, a mount ends by working or by a report that it could not begin, before the drive asks again.
func TestMachineLosesNoMount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m, open := machine{}, false
	vids := []hemera.VID{"", "V00001", "V00002"}
	seen := map[phase]int{}
	for range 200_000 {
		f := outcome{fault: fault(r.IntN(4)), problem: "x"}
		if r.IntN(2) == 0 {
			f = outcome{}
		}
		seen[m.phase]++
		if r.IntN(20) == 0 {
			// A mount whose end panics is dropped; the manager ends it when the drive asks again.
			open = open && m.phase != ending
			m = m.panicked(outcome{fault: driveFault, problem: "x"})
			continue
		}
		switch m.phase {
		case probing:
			m = m.probed(vids[r.IntN(3)], f)
		case idle:
			if open {
				t.Fatal("the drive asks with a mount that has not ended")
			}
			m = m.asked(tapeapi.Mount{Kind: tapeapi.MountKind(r.IntN(5)), VID: vids[1+r.IntN(2)]}, f)
			open = m.mount.Kind != tapeapi.MountNothing
		case fetching:
			if m.vid != "" {
				t.Fatal("a cartridge is carried to a drive with another one")
			}
			m = m.fetched(f)
		case loading:
			m = m.loaded(f)
		case working:
			if m.vid != m.mount.VID || !open {
				t.Fatalf("a mount of %q works on %q", m.mount.VID, m.vid)
			}
			m, open = m.worked(f), false
		case unloading:
			if m.vid == "" {
				t.Fatal("nothing is unloaded")
			}
			m = m.unloaded(f)
		case ending:
			if !open {
				t.Fatal("a mount ends twice")
			}
			m, open = m.ended(), false
		case down:
			if m.wait <= 0 || open {
				t.Fatalf("down for %v, a mount is open: %v", m.wait, open)
			}
			m = m.rested()
		}
	}
	for p := probing; p <= down; p++ {
		if seen[p] == 0 {
			t.Errorf("phase %d never came", p)
		}
	}
}

// TestWhoIsGuilty: what a drive says of its cartridge disables the tape, and what happens on the way to the drive does not.
func TestWhoIsGuilty(t *testing.T) {
	for _, c := range []struct {
		err  error
		want outcome
	}{
		{device.ErrMedium, outcome{fault: tapeFault, bad: true, cause: tapeapi.Unreadable}},
		{device.ErrWriteProtected, outcome{fault: tapeFault, bad: true, cause: tapeapi.WriteProtected}},
		{device.ErrHardware, outcome{fault: driveFault}},
		{device.ErrProtection, outcome{fault: driveFault}},
	} {
		if got := outcomeOf(errs.As(c.err, errs.Corrupt, "volume.Write", "V00001")); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.err, got, c.want)
		}
	}
}
