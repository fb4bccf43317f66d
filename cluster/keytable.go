package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"hemera/words/hemera"
)

// keyRecord is one secret of capabilities.
type keyRecord struct {
	ID     uint32
	Secret []byte
	Node   uint32    // zero: it is the manager's own
	Made   time.Time // by the manager's clock, which may have been wrong
	// Version is 2 for keys that nodes have only their own parts of.
	Version int
	// Ends is the time at which the key stops to verify, if an admin said so.
	Ends time.Time
}

func (r keyRecord) key() string { return fmt.Sprintf("key/%08x", r.ID) }

// secret returns the key without the rest of the record.
func (r keyRecord) secret() hemera.Key {
	return hemera.Key{ID: r.ID, Secret: r.Secret, Node: hemera.NodeID(r.Node)}
}

// keyTable owns the records of keys, by their ids.
type keyTable map[uint32]keyRecord

// newestFirst lists the keys in the order of their ids, which is that of their making.
func (t keyTable) newestFirst() []keyRecord {
	return slices.SortedFunc(maps.Values(t), func(a, b keyRecord) int { return cmp.Compare(b.ID, a.ID) })
}

// secrets returns the keys without what the records say besides.
func secrets(keys []keyRecord) []hemera.Key {
	list := make([]hemera.Key, len(keys))
	for i, k := range keys {
		list[i] = k.secret()
	}
	return list
}
