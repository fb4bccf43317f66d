package tape

import (
	"time"

	"hemera"
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

// machine decides what a drive does next. It is a value: its methods are pure, and the loop of a drive does the I/O.
type machine struct {
	phase phase
	vid   string           // of the cartridge in the drive; "" when it is empty or not known
	mount hemera.TapeMount // what is to be done; Kind is MountNothing when nothing is
	// then is the phase after ending.
	then     phase
	problem  string
	failures int           // one after the other
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

// pause is how long a drive rests after so many failures.
func pause(failures int, longest time.Duration) time.Duration {
	return min(pauseMin<<min(max(failures-1, 0), 10), longest)
}

// probed tells what a probe found: the VID in the drive, [unknownTape] when it cannot be read, "" for none.
func (m machine) probed(vid string, f fault, problem string) machine {
	m.wait = 0
	if f != noFault {
		return m.fail(problem)
	}
	// What is in the drive now was not mounted by this server, so nothing is known of where the tape stands.
	m.vid, m.problem = vid, ""
	if m.phase = idle; vid != "" {
		m.phase = unloading
	}
	return m
}

// asked tells what the manager answered.
func (m machine) asked(next hemera.TapeMount, f fault) machine {
	m.wait = 0
	if f != noFault { // of the manager or the network: the drive stays as it is
		m.failures++
		m.wait = pause(m.failures, askPauseMax)
		return m
	}
	if next.Kind == hemera.MountNothing {
		return m
	}
	m.failures = 0
	switch {
	case next.Kind == hemera.MountUnload && m.vid == "":
		return m
	case next.Kind == hemera.MountUnload:
		m.phase = unloading
		return m
	}
	m.mount = next
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
func (m machine) fetched(f fault, problem string) machine {
	switch f {
	case noFault:
		m.vid, m.phase = m.mount.VID, loading
		return m
	case driveFault:
		return m.cancel(down, problem).count(problem)
	}
	m = m.cancel(probing, problem) // the cartridge may stand anywhere
	m.wait = pauseMin
	return m
}

// loaded tells how loading ended.
func (m machine) loaded(f fault, problem string) machine {
	switch f {
	case noFault:
		m.phase = working
		return m
	case driveFault:
		return m.cancel(down, problem).count(problem)
	}
	return m.cancel(unloading, problem)
}

// worked tells how the mount ended; it was reported.
func (m machine) worked(f fault, problem string) machine {
	m.mount, m.wait = hemera.TapeMount{}, 0
	switch f {
	case tapeFault: // another mount of the same tape begins at its label
		m.phase = unloading
	case driveFault:
		return m.fail(problem)
	case askFault:
		m.phase = idle
	default:
		m.phase, m.failures, m.problem = idle, 0, ""
	}
	return m
}

// unloaded tells how carrying the cartridge away ended.
func (m machine) unloaded(f fault, problem string) machine {
	m.wait = 0
	if f == noFault {
		m.vid, m.failures, m.problem = "", 0, ""
		if m.phase = idle; m.mount.Kind != hemera.MountNothing {
			m.phase = fetching
		}
		return m
	}
	if m.mount.Kind != hemera.MountNothing { // another drive may take it meanwhile
		return m.cancel(unloading, problem).count(problem)
	}
	m.failures++
	m.problem = problem
	if m.failures < unloadTries {
		m.wait = pause(m.failures, pauseMax)
		return m
	}
	m.failures-- // fail counts it
	return m.fail(problem)
}

// ended tells that the manager knows of the end of the mount, or never will.
func (m machine) ended() machine {
	m.mount, m.phase = hemera.TapeMount{}, m.then
	return m
}

// rested ends a pause: the drive is looked at again.
func (m machine) rested() machine {
	m.phase, m.wait = probing, 0
	return m
}

// cancel ends a mount that could not begin, and goes on with another phase.
func (m machine) cancel(then phase, problem string) machine {
	m.phase, m.then, m.problem, m.wait = ending, then, problem, 0
	return m
}

// count notes a failure of the drive.
func (m machine) count(problem string) machine {
	m.failures++
	m.problem, m.wait = problem, pause(m.failures, pauseMax)
	return m
}

// fail takes the drive out of work until the next probe.
func (m machine) fail(problem string) machine {
	m = m.count(problem)
	m.phase = down
	return m
}

// status is the word that CTA has for it.
func (m machine) status() string {
	switch m.phase {
	case probing:
		return "STARTING"
	case fetching, loading:
		return "MOUNTING"
	case working:
		return "TRANSFERRING"
	case unloading:
		return "UNMOUNTING"
	case ending:
		return "CLEANINGUP"
	case down:
		return "DOWN"
	}
	return "UP"
}
