package pebblekv

import (
	"sync"
	"sync/atomic"
	"time"

	"hemera/errs"
)

const (
	// pendingMax is how many bytes of batches wait to be written at most, besides one batch.
	pendingMax = 4 << 20
	// lingerMax is how long a batch stays in memory that nobody waits for.
	lingerMax = 5 * time.Millisecond
	// noteAfter is how long after the last batch the log says that it is durable.
	noteAfter = time.Second
)

// log is the store's write-ahead log: a record for each batch, in files of its own below the store's
// directory, which Pebble's tables make superfluous one after the other. Pebble's own log is off: it
// hands every batch to a goroutine that writes and one that syncs, a third of what a batch costs.
// Here whoever waits for a batch writes and syncs all that are pending himself.
//
// Batches are appended in the order of their numbers, one at a time. Everything else may be called
// concurrently.
type log struct {
	files files // of whoever is running
	mark  mark  // of its records

	syncs   atomic.Int64
	durable atomic.Uint64 // number of the last batch that is

	mu      sync.Mutex
	turn    sync.Cond
	pending []byte // records to be written
	last    uint64 // number of the last record
	before  uint64 // number of the last record that is not pending
	noted   uint64 // number of the last record that is known to be durable, from the log alone
	spare   []byte // for the next pending
	running bool   // somebody writes and syncs
	failure error  // the first; nothing is tried after it
	linger  *time.Timer
	ticking bool // linger will fire
	idle    *time.Timer
}

// newLog is an empty log behind the batch with the number.
func newLog(f files, m mark, last uint64) *log {
	l := &log{files: f, mark: m, last: last, noted: last}
	l.turn.L = &l.mu
	l.durable.Store(last)
	l.linger = time.AfterFunc(time.Hour, l.tick)
	l.linger.Stop()
	l.idle = time.AfterFunc(time.Hour, l.settle)
	l.idle.Stop()
	return l
}

// append adds the record of a batch, which is the next. It only waits when too much is pending. It fails when
// the log has failed, also where nobody waited for it: what is pending would grow for ever.
func (l *log) append(number uint64, batch []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending) >= pendingMax && l.failure == nil {
		l.step()
	}
	if l.failure != nil {
		return l.failure
	}
	l.add(record{number: number, batch: batch})
	l.last = number
	if !l.ticking {
		l.ticking = true
		l.linger.Reset(lingerMax)
	}
	return nil
}

// add puts a record behind those that are pending: all before those will be durable when it is written. The
// caller holds mu.
func (l *log) add(r record) {
	if len(l.pending) == 0 {
		l.before = l.last
	}
	r.durable = l.before
	l.pending = r.appendTo(l.pending, l.mark)
}

// reach returns when the batch with the number is durable, or never will be.
func (l *log) reach(number uint64) error {
	if l.durable.Load() >= number {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.durable.Load() < number {
		if l.failure != nil {
			return l.failure
		}
		l.step()
	}
	return nil
}

// step writes what is pending, or waits for who does. The caller holds mu, which step gives up meanwhile.
func (l *log) step() {
	if l.running {
		l.turn.Wait()
		return
	}
	l.running = true
	records, last := l.pending, l.last
	l.pending, l.spare = l.spare[:0], nil
	l.mu.Unlock()
	err := l.files.write(records)
	l.mu.Lock()
	l.spare = records
	l.running = false
	if err != nil {
		l.failure = err
	} else {
		l.syncs.Add(1)
		l.durable.Store(last)
	}
	l.turn.Broadcast()
}

// tick writes what nobody waited for.
func (l *log) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) > 0 && l.failure == nil {
		l.step()
	}
	if l.ticking = len(l.pending) > 0 && l.failure == nil; l.ticking {
		l.linger.Reset(lingerMax)
	} else if l.failure == nil {
		l.idle.Reset(noteAfter)
	}
}

// settle has the log say that its last batch is durable, unless more are on their way: without it the end of the log
// could be lost to damage, and would look like one that a crash tore.
func (l *log) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running || len(l.pending) > 0 || l.failure != nil || l.noted == l.last {
		return
	}
	l.noted = l.last
	l.add(record{number: l.last})
	l.step()
}

// close ends the log; what is pending then is lost.
func (l *log) close() error {
	l.linger.Stop()
	l.idle.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.running {
		l.turn.Wait()
	}
	if l.failure == nil {
		l.failure = errs.New(errs.Unavailable, "kv.Commit", "", "the store is closed")
	}
	return l.files.close()
}
