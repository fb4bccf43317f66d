package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"hemera"
	"hemera/capability"
)

const (
	// keyLifetime is how long a key signs; keysKept are kept to verify, so that a write may take as
	// long as a key lives.
	keyLifetime = 24 * time.Hour
	keysKept    = 3
	// keyLead is how long before it signs a key is given to nodes.
	keyLead    = 2 * hemera.HeartbeatTimeout
	secretSize = 32
)

// Ring is the keys the manager signs with and verifies by. A new key is in it only after nodes had
// time to learn it.
func (c *Cluster) Ring() *capability.Keyring { return &c.ring }

func (c *Cluster) newKey() keyRecord {
	k := keyRecord{Key: hemera.Key{ID: 1, Secret: make([]byte, secretSize)}, Made: c.now()}
	_, _ = rand.Read(k.Secret)
	for id := range c.keys {
		k.ID = max(k.ID, id+1)
	}
	return k
}

// newestFirst lists the keys in the order of their ids, which is that of their making.
func (c *Cluster) newestFirst() []keyRecord {
	return slices.SortedFunc(maps.Values(c.keys), func(a, b keyRecord) int { return cmp.Compare(b.ID, a.ID) })
}

func (c *Cluster) allKeys() (keys []hemera.Key) {
	for _, k := range c.newestFirst() {
		keys = append(keys, k.Key)
	}
	return keys
}

// refreshRing leaves out keys too young for every node to know, unless there are no others.
func (c *Cluster) refreshRing() {
	keys := c.newestFirst()
	for len(keys) > 1 {
		if age := c.now().Sub(keys[0].Made); age >= keyLead || age < 0 {
			break
		}
		keys = keys[1:]
	}
	ring := make([]hemera.Key, len(keys))
	for i, k := range keys {
		ring[i] = k.Key
	}
	c.ring.Set(ring)
}

func (c *Cluster) rotate(ctx context.Context) error {
	keys := c.newestFirst()
	// A key of the future was made while the clock was wrong: by its time it would never end.
	if age := c.now().Sub(keys[0].Made); age < keyLifetime && age > -keyLifetime {
		c.refreshRing()
		return nil
	}
	var ch change
	ch.put(c.newKey())
	for _, old := range keys[min(len(keys), keysKept-1):] {
		ch.delete(old)
	}
	if err := c.commit(ctx, &ch); err != nil {
		return err
	}
	c.refreshRing()
	return nil
}
