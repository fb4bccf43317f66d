// Package nsbench measures a namespace like CERN's `ns benchmark`: N workers, each with its own directories, make, look
// at, open and remove empty files, phase after phase, all workers at the same time.
//
// It differs where that tool reports too high rates: an operation counts when it has succeeded and its change is visible
// and durable, and not when it was tried; the time of a phase is from the start of all workers to the end of the last.
//
// # Parts
//
//	Shape    the numbers of workers, directories and files, and the path
//	Target   the measured interface, for one worker: the manager from inside (Service), or a client session
//	Run      makes the tree, runs the phases, removes the tree
//	Service  adminapi.Benchmarker in the manager's process
//
// # Phases
//
// mkdir and create make the tree; exists tries to make all of it again, and counts each refusal as a success; read and
// write open each file; deletion removes everything. A phase consists of steps, and a step of operations. Directories
// that are made or removed beside files are counted separately, so that each rate counts one kind of operation.
//
// # Goroutines
//
// Each worker is a goroutine, with as many lanes as the shape has depth. A lane counts into a record of its own, in
// memory that does not grow with the run, so counting needs neither lock nor allocation. When a phase has ended, the
// goroutine of Run adds the records up. Run blocks until all of them have ended, also when its context ends. It removes
// the tree, unless Options.Keep is set.
//
// Latencies are kept in histograms of two digits and, if requested, over time in at most 64 intervals, whose length
// doubles when a phase lasts longer.
package nsbench
