// Package contain keeps a panic in one unit of work from ending the process, which has other work too.
//
// A boundary surrounds a unit that can fail alone: a request, an order, a call to a disk, a step of a tape drive. The
// panic may leave the state of the unit half changed: the caller fails the unit and does not use its state again. If the
// panic may leave a lock held, the unit is the owner of the lock.
package contain

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"hemera/words/errs"
)

// Panics counts and logs the panics that the boundaries of one part of a process contained. It is safe for concurrent
// use. A nil *Panics contains panics too, without counting and logging.
type Panics struct {
	log   *slog.Logger
	count atomic.Int64
}

// New returns a counter without panics. It logs each panic with its stack; nil logs nothing.
func New(log *slog.Logger) *Panics {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Panics{log: log}
}

// Count returns the number of panics so far.
func (p *Panics) Count() int64 {
	if p == nil {
		return 0
	}
	return p.count.Load()
}

// Do runs one unit of work and returns its error. A panic in it, on the same goroutine, becomes an error of kind Internal
// about the subject. The unit may then be half done.
func (p *Panics) Do(op, subject string, work func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = p.contained(op, subject, v)
		}
	}()
	return work()
}

// Note counts and logs a panic that a boundary of another package recovered, and returns its error. The deferred function
// that recovered it must call Note.
func (p *Panics) Note(op, subject string, v any) error { return p.contained(op, subject, v) }

// Func returns work with a boundary around it, for the goroutine of a group.
func (p *Panics) Func(op, subject string, work func() error) func() error {
	return func() error { return p.Do(op, subject, work) }
}

// Go runs work in a goroutine with a boundary around it. The group counts it; with a nil group, no caller waits for it.
// If other goroutines wait for a result of work, work must deliver it in deferred calls.
func (p *Panics) Go(group *sync.WaitGroup, op, subject string, work func()) {
	contained := func() { p.Run(op, subject, work) }
	if group == nil {
		go contained()
		return
	}
	group.Go(contained)
}

// Run does the same as Do for work without an error. It reports whether work returned.
func (p *Panics) Run(op, subject string, work func()) bool {
	return p.Do(op, subject, func() error { work(); return nil }) == nil
}

// contained records a panic. It must be called while the stack of the panic still exists.
func (p *Panics) contained(op, subject string, v any) error {
	if p != nil {
		p.count.Add(1)
		p.log.Error("a panic was contained", "op", op, "subject", subject, "panic", v, "stack", string(debug.Stack()))
	}
	return errs.New(errs.Internal, op, subject, fmt.Sprintf("it failed by a defect of the program: %v", v)).
		WithRemedy("report it, with what the log of this process says at this time")
}
