package server

import (
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// phase says what a drive is about to do.
type phase uint8

// The phases. The doc comment of the package has the picture.
const (
	probing   phase = iota // find out what is in the drive
	idle                   // ask the manager
	fetching               // carry the cartridge to the drive
	loading                // make it ready
	working                // do what the mount is for
	unloading              // eject the cartridge and carry it to a slot
	ending                 // tell the manager that a mount ended before it could begin
	down                   // wait before the next probe
)

// fault says what an attempt failed by, and so what follows.
type fault uint8

// The faults.
const (
	noFault    fault = iota
	tapeFault        // this tape cannot be used now; the drive can
	driveFault       // the drive, or the robot in front of it
	askFault         // the manager did not answer, or this node has no lease
)

// outcome is the end of a step of a drive.
type outcome struct {
	fault   fault
	problem string // for people, "" without a fault
	// bad: what failed is the tape itself, so that it should not be mounted again before somebody looked.
	bad   bool
	cause tapeapi.Cause // of a bad tape
}

// machine decides what a drive does next. It is a value: its methods are pure, and the loop of a drive does the I/O.
type machine struct {
	phase phase
	vid   hemera.VID    // of the cartridge in the drive; "" when it is empty or not known
	mount tapeapi.Mount // what is to be done; Kind is MountNothing when nothing is
	// then is the phase after ending.
	then     phase
	problem  string
	bad      bool          // of the mount that is ending, see outcome
	failures int           // one after the other
	broken   int           // mounts that a fault of the drive ended, one after the other
	wait     time.Duration // before the next action
}

const (
	unloadTries = 3
	pauseMin    = 5 * time.Second
	pauseMax    = 10 * time.Minute
	askPauseMax = 10 * time.Second
	// unknownTape stands for a cartridge whose barcode cannot be read.
	unknownTape = "?"
)

// backoff returns the rest of a drive after a number of failures.
func backoff(failures int, longest time.Duration) time.Duration {
	return min(pauseMin<<min(max(failures-1, 0), 10), longest)
}

// probed tells what a probe found: the VID in the drive, [unknownTape] when it cannot be read, "" for none.
func (m machine) probed(vid hemera.VID, x outcome) machine {
	m.wait = 0
	if x.fault != noFault {
		return m.fail(x)
	}
	// What is in the drive now was not mounted by this server, so nothing is known of where the tape stands.
	m.vid, m.problem = vid, ""
	if m.phase = idle; vid != "" {
		m.phase = unloading
	}
	return m
}

// asked tells what the manager answered.
func (m machine) asked(next tapeapi.Mount, x outcome) machine {
	m.wait = 0
	if x.fault != noFault { // of the manager or the network: the drive stays as it is
		m.failures++
		m.wait = backoff(m.failures, askPauseMax)
		return m
	}
	if next.Kind == tapeapi.MountNothing {
		return m
	}
	m.failures = 0 // the manager answers again
	switch {
	case next.Kind == tapeapi.MountUnload && m.vid == "":
		return m
	case next.Kind == tapeapi.MountUnload:
		m.phase = unloading
		return m
	}
	m.mount = next
	// The tape may be there already, its drive may be empty, or hold another tape.
	switch m.vid {
	case next.VID:
		m.phase = working
	case "":
		m.phase = fetching
	default:
		m.phase = unloading
	}
	return m
}

// fetched tells how carrying the cartridge to the drive ended.
func (m machine) fetched(x outcome) machine {
	switch x.fault {
	case noFault:
		m.vid, m.phase = m.mount.VID, loading
		return m
	case driveFault:
		return m.cancel(down, x).count(x)
	}
	m = m.cancel(probing, x) // the cartridge may stand anywhere
	m.wait = pauseMin
	return m
}

// loaded tells how loading ended.
func (m machine) loaded(x outcome) machine {
	switch x.fault {
	case noFault:
		m.phase = working
		return m
	case driveFault:
		return m.cancel(down, x).count(x)
	}
	return m.cancel(unloading, x)
}

// worked tells how the mount ended; it was reported.
func (m machine) worked(x outcome) machine {
	m.mount, m.wait = tapeapi.Mount{}, 0
	switch x.fault {
	case tapeFault: // another mount of the same tape begins at its label
		m.phase = unloading
	case driveFault:
		// Its cartridge can be carried away in most cases, which does not end this count: the pause grows until a mount ends well.
		m.failures = m.broken
		m = m.fail(x)
		m.broken = m.failures
	case askFault:
		m.phase = idle
	default:
		m.phase, m.failures, m.broken, m.problem = idle, 0, 0, ""
	}
	return m
}

// unloaded tells how carrying the cartridge away ended.
func (m machine) unloaded(x outcome) machine {
	m.wait = 0
	if x.fault == noFault {
		m.vid, m.failures, m.problem = "", 0, ""
		if m.phase = idle; m.mount.Kind != tapeapi.MountNothing {
			m.phase = fetching
		}
		return m
	}
	if m.mount.Kind != tapeapi.MountNothing { // another drive may take it meanwhile
		return m.cancel(unloading, x).count(x)
	}
	// Stuck for a moment, in most cases: tried again before the drive is down.
	m.failures++
	m.problem = x.problem
	if m.failures < unloadTries {
		m.wait = backoff(m.failures, pauseMax)
		return m
	}
	m.failures-- // fail counts it
	return m.fail(x)
}

// ended tells that the manager knows of the end of the mount, or never will.
func (m machine) ended() machine {
	m.mount, m.phase = tapeapi.Mount{}, m.then
	return m
}

// rested ends a pause: the drive is looked at again.
func (m machine) rested() machine {
	m.phase, m.wait = probing, 0
	return m
}

// panicked tells that the step of the phase ended half done.
func (m machine) panicked(x outcome) machine {
	// The end of the mount itself may be what panics; the manager ends it when the drive asks again.
	if m.mount.Kind == tapeapi.MountNothing || m.phase == ending {
		m.mount = tapeapi.Mount{}
		return m.fail(x)
	}
	m.failures = max(m.failures, m.broken)
	m = m.cancel(down, x).count(x)
	m.broken = m.failures
	return m
}

// cancel ends a mount that could not begin, and goes on with another phase.
func (m machine) cancel(then phase, x outcome) machine {
	m.phase, m.then, m.problem, m.bad, m.wait = ending, then, x.problem, x.bad, 0
	return m
}

// count notes a failure of the drive.
func (m machine) count(x outcome) machine {
	m.failures++
	m.problem, m.wait = x.problem, backoff(m.failures, pauseMax)
	return m
}

// fail takes the drive out of work until the next probe.
func (m machine) fail(x outcome) machine {
	m = m.count(x)
	m.phase = down
	return m
}

// status returns the word that CTA has for it.
func (m machine) status() tapeapi.DriveStatus {
	switch m.phase {
	case probing:
		return tapeapi.DriveStarting
	case fetching, loading:
		return tapeapi.DriveMounting
	case working:
		return tapeapi.DriveTransferring
	case unloading:
		return tapeapi.DriveUnmounting
	case ending:
		return tapeapi.DriveCleaningUp
	case down:
		return tapeapi.DriveDown
	}
	return tapeapi.DriveUp
}
