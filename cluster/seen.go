package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// A manager's directory can be put back from an older copy, or lose the end of its log. It cannot tell by itself:
// what it forgot, it forgot whole. Its nodes can. Each heartbeat, and each answer that acknowledges a change, gives a node
// a mark: how far the store was, in which life of the manager. A node keeps the newest mark and shows it when it registers.
// So nothing that a node was told is lost without a word, however short the part of the log that is gone. The store knows where each
// of its lives began, and so how far the one before it came: a mark beyond that, or of a life that the store should
// know and does not, proves that changes are missing. It goes on doing so however often the manager is started.
//
// A mark has a MAC under a secret of the store, so that a node cannot make one up and stop the manager with it.
// A restore makes a new secret: it goes back on purpose, and leaves out the ids that may have been used since.

const (
	// 128 bits of HMAC-SHA-256: a node can try a few marks with each registration only.
	seenMAC   = 16
	seenBytes = hemera.SeenMarkBytes // 8 of the life, 8 of the sequence number, MAC
)

// Marks tells nodes how far the store is, and finds out from theirs whether it is older than the cluster.
type Marks struct {
	journal  *journal
	table    *historyTable
	roster   *roster
	life     uint64     // of this process
	since    uint64     // the store's sequence number when it was opened
	outdated chan error // has one once a node proved that the store is older than the cluster
	current  current
}

// newMarks begins a life of the manager.
func newMarks(j *journal) *Marks {
	return &Marks{
		journal: j, table: &j.tables.history, roster: &j.tables.roster, life: newLife(), outdated: make(chan error, 1), current: current{known: make(chan struct{})},
	}
}

// begins adds the life that begins to the history.
func (c *Marks) begins(ch *change) {
	h := historyRecord{Secret: c.table.secret, Lives: c.table.lives}
	if h.Secret == nil {
		h = newHistory()
	}
	// Cloned, as the records in memory change only when the change is durable.
	h.Lives = append(slices.Clone(h.Lives), life{c.life, c.since})
	h.Lives = h.Lives[max(0, len(h.Lives)-livesMax):]
	ch.put(h)
}

// Mark returns the mark for a node: how far the store is now. Only what is durable counts: what this process has waited for. It asks the
// store, so the caller does not hold mu. The mark is nil when the store cannot tell.
func (c *Marks) Mark() []byte {
	c.journal.mu.Lock()
	secret := c.table.secret // replaced as a whole, never changed
	c.journal.mu.Unlock()
	last, err := c.journal.writer.LastSeq(context.Background())
	if err != nil {
		return nil
	}
	mark := binary.BigEndian.AppendUint64(make([]byte, 0, seenBytes), c.life)
	mark = binary.BigEndian.AppendUint64(mark, last)
	return append(mark, seal(secret, mark)...)
}

// seal returns the MAC of a mark. Without the secret no mark can be made that its store believes.
func seal(secret, mark []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(mark)
	return mac.Sum(nil)[:seenMAC]
}

// checkSeen compares the marks that a node shows with where this life began. Corrupt when the store was further once;
// then the manager ends. A mark of another store, or none, says nothing. mu is held.
func (c *Marks) checkSeen(hello hemera.NodeHello) error {
	if len(hello.Seen)%seenBytes != 0 || len(hello.Seen) > hemera.SeenMarksMax*seenBytes {
		return nil
	}
	for mark := range slices.Chunk(hello.Seen, seenBytes) {
		if err := c.checkMark(hello, mark); err != nil {
			return err
		}
	}
	return nil
}

// checkMark does what checkSeen does, for one mark. mu is held.
func (c *Marks) checkMark(hello hemera.NodeHello, sealed []byte) error {
	mark, mac := sealed[:seenBytes-seenMAC], sealed[seenBytes-seenMAC:]
	// Of another store, or of this one before it was restored. It proves nothing, so it is no error.
	if !hmac.Equal(seal(c.table.secret, mark), mac) {
		return nil
	}
	id, was := binary.BigEndian.Uint64(mark), binary.BigEndian.Uint64(mark[8:])
	end, over := endOf(c.table.lives, id)
	if !over || was <= end {
		return nil
	}
	older := errs.New(errs.Corrupt, "cluster.Register", "the manager's state directory",
		fmt.Sprintf("it is older than the cluster: node %d at %s saw changes up to number %d, which the directory does not have", hello.ID, hello.Addr, was)).
		WithRemedy("start the manager with the newest copy of its directory; to go on with this one and lose the changes since, " +
			"run `hemera ns backup --state DIR FILE` and `hemera ns restore FILE NEWDIR`")
	// Stored before the wait is decided: those that it wakes see it.
	c.current.outdated.Store(older)
	c.current.decide()
	select {
	case c.outdated <- older:
	default: // another node said so
	}
	return older
}

// currentTime bounds the wait of changes for a node that can say whether the store is as new as the cluster.
const currentTime = hemera.HeartbeatTimeout

// current is whether the store is as new as the cluster. A store with nodes is not taken for it until the first of
// them has registered, which shows its mark, or has been waited for long enough: what is acknowledged before would be
// lost once the newest copy of the store is put in place.
type current struct {
	since    time.Time     // when the wait began
	first    hemera.NodeID // nodes from this one on joined in this life, and know nothing of those before
	known    chan struct{} // closed when it is decided
	once     sync.Once
	outdated atomic.Pointer[errs.Error] // decided: a node saw more
	foreign  atomic.Pointer[errs.Error] // a node of another store came to this one, which has none yet
}

// decide ends the wait. What was decided is in outdated.
func (s *current) decide() { s.once.Do(func() { close(s.known) }) }
