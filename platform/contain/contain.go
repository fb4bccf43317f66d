// Package contain keeps a panic in one unit of work from ending the process, in which others have work too.
//
// A boundary stands around a unit that can fail alone: a request, an order, a call to a disk, a step of a tape drive. What the panic left
// half done is the unit's: the caller fails it, and does not use its state again. Where a lock may be left held, the owner of the lock
// is the unit.
package contain

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"hemera/words/errs"
)

// Panics counts and logs the panics that the boundaries of one part of a process contained. It may be used concurrently. A nil
// *Panics contains as well, and neither counts nor logs.
type Panics struct {
	log   *slog.Logger
	count atomic.Int64
}

// New returns a counter without panics. The log gets each of them with its stack; nil logs nothing.
func New(log *slog.Logger) *Panics {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Panics{log: log}
}

// Count is the number of panics so far.
func (p *Panics) Count() int64 {
	if p == nil {
		return 0
	}
	return p.count.Load()
}

// Do does one unit of work and returns its error. A panic in it, on the same goroutine, becomes an error of kind Internal about the
// subject. The unit may be half done then.
func (p *Panics) Do(op, subject string, work func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = p.contained(op, subject, v)
		}
	}()
	return work()
}

// Note counts and logs a panic that a boundary of another package recovered, in the deferred call that did, and returns its error.
func (p *Panics) Note(op, subject string, v any) error { return p.contained(op, subject, v) }

// Func returns work with a boundary around it, as a goroutine of a group takes it.
func (p *Panics) Func(op, subject string, work func() error) func() error {
	return func() error { return p.Do(op, subject, work) }
}

// Go starts work in a goroutine with a boundary around it. A group counts it; nil: nobody waits for it. What others wait for, work ends
// in deferred calls.
func (p *Panics) Go(group *sync.WaitGroup, op, subject string, work func()) {
	contained := func() { p.Run(op, subject, work) }
	if group == nil {
		go contained()
		return
	}
	group.Go(contained)
}

// Run is Do for work without an error. It reports whether work returned.
func (p *Panics) Run(op, subject string, work func()) bool {
	return p.Do(op, subject, func() error { work(); return nil }) == nil
}

// contained notes a panic, and is called while its stack is still there.
func (p *Panics) contained(op, subject string, v any) error {
	if p != nil {
		p.count.Add(1)
		p.log.Error("a panic was contained", "op", op, "subject", subject, "panic", v, "stack", string(debug.Stack()))
	}
	return errs.New(errs.Internal, op, subject, fmt.Sprintf("it failed by a defect of the program: %v", v)).
		WithRemedy("report it, with what the log of this process says at this time")
}
