package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"hemera/rules/capability"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// keyLifetime is the time for which a key signs. It verifies for keysKept lifetimes after that, so that a write may
	// take as long. A day bounds what a stolen key is good for, and makes few keys: see keysHeld.
	keyLifetime = 24 * time.Hour
	keysKept    = 2
	// keyLead is the time before its first signature at which nodes get a key.
	keyLead    = 2 * hemera.HeartbeatTimeout
	secretSize = 32 // bytes
	// keysHeld is the number of keys from which on an admin's are refused; the daily ones still fit.
	keysHeld = capability.KeysMax - 4
	// keyVersion is of keys that no node was ever told: nodes are told what is made of them.
	keyVersion = 2
)

// Keys makes the keys that sign capabilities. The keys themselves are records.
type Keys struct {
	journal *journal
	table   keyTable
	ring    capability.Keyring // keys that every node has had time to learn
	told    capability.Keyring // all keys: what nodes are told is made of them
}

// Ring returns the keys the manager signs with and verifies by. A new key is in it only after nodes had
// time to learn it.
func (c *Keys) Ring() *capability.Keyring { return &c.ring }

// newKey makes a key whose id is above all others. Only its record makes it count. mu is held.
func (c *Keys) newKey() keyRecord {
	k := keyRecord{ID: 1, Secret: make([]byte, secretSize), Made: c.journal.now(), Version: keyVersion}
	// crypto/rand never fails: it ends the program instead.
	_, _ = rand.Read(k.Secret)
	for id := range c.table {
		k.ID = max(k.ID, id+1)
	}
	return k
}

// firstKeys puts what the keys need at the start into the change. Those of
// another version go: nodes may have them.
func (c *Keys) firstKeys(ch *change) {
	usable := false
	for _, k := range c.table {
		if k.Version == keyVersion {
			usable = true
		} else {
			ch.delete(k)
		}
	}
	if !usable {
		ch.put(c.newKey())
	}
}

// nodeKeys returns the keys that a node gets: its own part of all keys, those too young to sign too.
func (c *Keys) nodeKeys(id hemera.NodeID) []hemera.Key { return c.told.NodeKeys(id) }

// refreshRing leaves out keys too young for every node to know, unless there are no others.
func (c *Keys) refreshRing() {
	keys := c.table.newestFirst()
	c.told.Set(secrets(keys))
	for len(keys) > 1 {
		// The age of a key from the future says nothing, as a clock was wrong: it signs.
		if age := c.journal.now().Sub(keys[0].Made); age >= keyLead || age < 0 {
			break
		}
		keys = keys[1:]
	}
	c.ring.Set(secrets(keys))
}

// rotate makes a new key when the newest has signed long enough, and ends those whose time is over.
func (c *Keys) rotate(ctx context.Context) error {
	if err := c.endKeys(ctx); err != nil {
		return err
	}
	return c.journal.update(ctx, func(ch *change) error {
		// A key of the future was made while the clock was wrong: by its time it would never end.
		if age := c.journal.now().Sub(c.table.newestFirst()[0].Made); age < keyLifetime && age > -keyLifetime {
			c.refreshRing()
			return nil
		}
		c.putKey(ch)
		return nil
	}, c.refreshRing)
}

// putKey puts a new key into the change, and drops those that stopped to sign long ago.
func (c *Keys) putKey(ch *change) {
	fresh := c.newKey()
	ch.put(fresh)
	// A key stopped to sign when the one after it was made, so the age of its successor decides.
	next := fresh
	for i, k := range c.table.newestFirst() {
		if c.journal.now().Sub(next.Made) >= keysKept*keyLifetime || i+1 >= capability.KeysMax {
			ch.delete(k)
		}
		next = k
	}
}

// endKeys drops keys that an admin has ended, once the one after them signs.
func (c *Keys) endKeys(ctx context.Context) error {
	return c.journal.update(ctx, func(ch *change) error {
		for _, k := range c.table.newestFirst()[1:] {
			if !k.Ends.IsZero() && !c.journal.now().Before(k.Ends) {
				ch.delete(k)
			}
		}
		return nil
	}, nil)
}

// RotateKeys makes a new key, which signs once all nodes had time to learn it. What was signed before stays good for
// its time; with end, it is refused from then on, also where it would end a write. Overloaded when too many keys
// are held already.
func (c *Keys) RotateKeys(ctx context.Context, end bool) error {
	return c.journal.update(ctx, func(ch *change) error {
		if len(c.table) >= keysHeld && !end {
			return errs.New(errs.Overloaded, "cluster.RotateKeys", "", fmt.Sprintf("%d keys are held for what they signed", len(c.table))).
				WithRemedy("wait some days; or end what was signed so far, with --now")
		}
		if end {
			for _, k := range c.table.newestFirst() {
				// Not at once: the new key signs only when every node has had time to learn it.
				k.Ends = c.journal.now().Add(keyLead)
				ch.put(k)
			}
		}
		c.putKey(ch)
		return nil
	}, func() {
		c.refreshRing()
		c.journal.log.Warn("a capability key was made by an admin", "ends", end)
	})
}
