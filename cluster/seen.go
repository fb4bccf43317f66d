package cluster

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"hemera"
	"hemera/errs"
)

// A manager's directory can be put back from an older copy, or lose the end of its log. It cannot tell by itself:
// what it forgot, it forgot whole. Its nodes can. Each heartbeat gives a node a mark: how far the store was, in
// which life of the manager. A node keeps the newest mark and shows it when it registers. A mark of an earlier life
// that is beyond where this life began proves that changes are missing.
//
// A mark has a MAC under a secret of the store, so that a node cannot make one up and stop the manager with it.
// A restore makes a new secret: it goes back on purpose, and leaves out the ids that may have been used since.

const (
	seenMAC   = 16
	seenBytes = 8 + 8 + seenMAC // life, sequence number, MAC
	secretLen = 32
)

// historyRecord is the secret by which the store knows the marks it gave.
type historyRecord struct{ Secret []byte }

func (historyRecord) key() string { return "history" }

func newHistory() historyRecord {
	secret := make([]byte, secretLen)
	_, _ = rand.Read(secret) // never fails
	return historyRecord{secret}
}

// newLife is the number of a life of the manager.
func newLife() uint64 {
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails
	return binary.BigEndian.Uint64(raw[:])
}

// seen is the mark for a node: how far the store is now. Only what is durable counts. c.mu is held.
func (c *Cluster) seen() []byte {
	last, err := c.writer.LastSeq(context.Background()) // answered from memory
	if err != nil {
		return nil
	}
	mark := binary.BigEndian.AppendUint64(make([]byte, 0, seenBytes), c.life)
	mark = binary.BigEndian.AppendUint64(mark, last)
	return append(mark, c.seal(mark)...)
}

func (c *Cluster) seal(mark []byte) []byte {
	mac := hmac.New(sha256.New, c.history)
	mac.Write(mark)
	return mac.Sum(nil)[:seenMAC]
}

// checkSeen compares the mark that a node shows with where this life began. Corrupt when the store was further once;
// then the manager ends. A mark of another store, or none, says nothing. c.mu is held.
func (c *Cluster) checkSeen(hello hemera.NodeHello) error {
	if len(hello.Seen) != seenBytes {
		return nil
	}
	mark, mac := hello.Seen[:seenBytes-seenMAC], hello.Seen[seenBytes-seenMAC:]
	if !hmac.Equal(c.seal(mark), mac) {
		return nil
	}
	life, was := binary.BigEndian.Uint64(mark), binary.BigEndian.Uint64(mark[8:])
	if life == c.life || was <= c.since {
		return nil
	}
	err := errs.New(errs.Corrupt, "cluster.Register", "the manager's state directory",
		fmt.Sprintf("it is older than the cluster: node %d at %s saw %d changes, and %d were there when the manager started", hello.ID, hello.Addr, was, c.since)).
		WithRemedy("start the manager with the newest copy of its directory; to go on with this one and lose the changes since, " +
			"run `hemera ns backup --state DIR FILE` and `hemera ns restore FILE NEWDIR`")
	select {
	case c.outdated <- err:
	default: // another node said so
	}
	return err
}
