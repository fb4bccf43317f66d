// Package memjournal is a journal in memory, for tests: a model of the contract of package journal with faults that a test injects.
//
// A [Cluster] is what the machines share; each machine has a [Journal] of it. An answer can be lost, before or after the append was carried out,
// or with the append carried out later; a machine can hear of entries late; and the leader can change, which fails what is under way.
package memjournal

import (
	"context"
	"math/rand/v2"
	"sync"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// Cluster is the shared journal.
type Cluster struct {
	mu      sync.Mutex
	created bool
	epoch   uint64
	last    journal.Position
	first   uint64            // number of entries[0]
	entries [][]byte          // encoded
	changed chan struct{}     // closed, and replaced, at each change
	appends func(Call) Answer // decides about each append; nil: all are answered
	late    []Call            // appends that are carried out later
}

// Call is one append of a machine.
type Call struct {
	Machine string
	Entry   journal.Entry
}

// Answer says what happens to an append and its answer.
type Answer int

// Answers.
const (
	Answered  Answer = iota // it is carried out and answered
	LostAfter               // it is carried out, and its answer is lost
	LostNever               // it is never carried out, without a word of it
	LostLater               // it is not carried out yet, its answer is lost, and [Cluster.Late] carries it out
	Hangs                   // nothing happens until the caller's context ends
)

// New returns a cluster without a journal.
func New() *Cluster { return &Cluster{changed: make(chan struct{})} }

// Appends sets the function that decides about each append; nil answers all. It must not call the cluster.
func (c *Cluster) Appends(decide func(Call) Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.appends = decide
}

// Late carries out the appends whose answers were lost before they were carried out, in order, and returns the number of those that the journal took.
func (c *Cluster) Late() (taken int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.late {
		if c.put(call.Entry) == nil {
			taken++
		}
	}
	c.late = nil
	return taken
}

// NoLag ends a lag.
const NoLag = 1<<64 - 1

// Machine returns the journal as one machine sees it.
func (c *Cluster) Machine(name string) *Journal { return &Journal{c: c, name: name, lag: NoLag} }

// Journal implements [journal.Journal].
type Journal struct {
	c    *Cluster
	name string
	lag  uint64 // the last entry that this machine hears of; under c.mu
}

var _ journal.Journal = (*Journal)(nil)

// Lag makes this machine's Follow stop after an entry, as if the news of later ones, and of epochs, had not come yet.
func (j *Journal) Lag(after uint64) {
	j.c.mu.Lock()
	defer j.c.mu.Unlock()
	j.lag = after
	j.c.wake()
}

// wake wakes followers. The caller holds mu.
func (c *Cluster) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Create implements journal.Journal.
func (j *Journal) Create(_ context.Context, after uint64) error {
	c := j.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.created {
		return errs.New(errs.Exists, "memjournal.Create", "", "there is a journal")
	}
	c.created, c.last, c.first = true, journal.Position{Seq: after, Chain: rand.Uint64()}, after+1
	return nil
}

// missing returns NotFound if there is no journal. The caller holds mu.
func (c *Cluster) missing(op string) error {
	if !c.created {
		return errs.New(errs.NotFound, op, "", "there is no journal")
	}
	return nil
}

// Begin implements journal.Journal.
func (j *Journal) Begin(_ context.Context, _ string) (uint64, journal.Position, error) {
	c := j.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.missing("memjournal.Begin"); err != nil {
		return 0, journal.Position{}, err
	}
	c.epoch++
	c.wake()
	return c.epoch, c.last, nil
}

// AwaitNewer implements journal.Journal.
func (j *Journal) AwaitNewer(ctx context.Context, epoch uint64) error {
	for {
		j.c.mu.Lock()
		now, changed, lags := j.c.epoch, j.c.changed, j.lag <= j.c.last.Seq
		j.c.mu.Unlock()
		if now > epoch && !lags {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "memjournal.AwaitNewer", "")
		}
	}
}

// put appends an entry if it is the next one of the current epoch. The caller holds mu.
func (c *Cluster) put(e journal.Entry) error {
	const op = "memjournal.Append"
	encoded, err := e.Encode()
	switch {
	case err != nil:
		return err
	case e.Epoch != c.epoch:
		return errs.New(errs.Fenced, op, "", "a newer epoch has begun")
	case e.Seq > c.last.Seq+1:
		return errs.New(errs.Conflict, op, "", "the entry before is not there")
	case e.Seq <= c.last.Seq || e.Prev != c.last.Chain:
		return errs.New(errs.Corrupt, op, "", "the entry does not follow the last one")
	}
	c.entries = append(c.entries, encoded)
	c.last = journal.Position{Seq: e.Seq, Chain: journal.Sum(encoded), Epoch: e.Epoch}
	c.wake()
	return nil
}

// Append implements journal.Journal.
func (j *Journal) Append(ctx context.Context, e journal.Entry) error {
	answer, err := j.c.append(Call{j.name, e})
	if answer == Hangs {
		<-ctx.Done()
		return errs.Wrap(ctx.Err(), "memjournal.Append", "")
	}
	return err
}

// append carries an append out as the test decides.
func (c *Cluster) append(call Call) (Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.missing("memjournal.Append"); err != nil {
		return Answered, err
	}
	call.Entry.Batch = append([]byte(nil), call.Entry.Batch...)
	answer := Answered
	if c.appends != nil {
		answer = c.appends(call)
	}
	lost := errs.New(errs.Timeout, "memjournal.Append", "", "the answer was lost")
	switch answer {
	case LostAfter:
		_ = c.put(call.Entry) // a refusal is lost too
	case LostLater:
		c.late = append(c.late, call)
	case Answered:
		return answer, c.put(call.Entry)
	}
	return answer, lost
}

// Follow implements journal.Journal.
func (j *Journal) Follow(ctx context.Context, from uint64, visit func(journal.Entry) error) error {
	for next := from; ; {
		encoded, changed, err := j.c.at(next, j)
		if err != nil {
			return err
		}
		if encoded == nil {
			select {
			case <-changed:
			case <-ctx.Done():
				return errs.Wrap(ctx.Err(), "memjournal.Follow", "")
			}
			continue
		}
		e, _, err := journal.Decode(encoded)
		if err == nil {
			err = visit(e)
		}
		if err != nil {
			return err
		}
		next++
	}
}

// at returns an entry, or a channel that is closed at the next change if the machine has not heard of it.
func (c *Cluster) at(seq uint64, j *Journal) (encoded []byte, changed <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const op = "memjournal.Follow"
	if err := c.missing(op); err != nil {
		return nil, nil, err
	}
	switch {
	case seq < c.first:
		return nil, nil, journal.Trimmed(op, c.bounds())
	case seq > c.last.Seq+1:
		return nil, nil, journal.Ahead(op, seq, c.bounds())
	case seq > c.last.Seq, seq > j.lag:
		return nil, c.changed, nil
	}
	return c.entries[seq-c.first], nil, nil
}

// Trim implements journal.Journal.
func (j *Journal) Trim(_ context.Context, below uint64) error {
	c := j.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.missing("memjournal.Trim"); err != nil {
		return err
	}
	if below = min(below, c.last.Seq+1); below > c.first {
		c.entries, c.first = c.entries[below-c.first:], below
		c.wake()
	}
	return nil
}

// Bounds implements journal.Journal.
func (j *Journal) Bounds(context.Context) (journal.Bounds, error) {
	c := j.c
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bounds(), c.missing("memjournal.Bounds")
}

// bounds returns the ends. The caller holds mu.
func (c *Cluster) bounds() journal.Bounds {
	return journal.Bounds{First: c.first, Last: c.last, Epoch: c.epoch}
}
