package accounts

import (
	"hemera/namespace/schema"
	"hemera/words/hemera"
)

// Node is a directory whose limits are changed: a copy of its entry and of its record.
type Node struct {
	l      Ledger
	entry  hemera.Entry     // of the directory
	record schema.QuotaNode // stored by Store
}

// Node returns the directory's limits for a change. A directory that is no quota node yet is a new one, which waits for
// its files to be counted.
func (l Ledger) Node(dir *hemera.Entry) (*Node, error) {
	n := &Node{l: l, entry: *dir, record: schema.QuotaNode{State: schema.NodeWaiting}}
	if dir.Quota {
		q, err := l.node(dir.ID)
		if err != nil {
			return nil, err
		}
		n.record = *q
	}
	return n, nil
}

// Limited reports whether the node has any limit.
func (n *Node) Limited() bool { return n.record.Limited() }

// Limit returns what is set for exactly this key.
func (n *Node) Limit(key hemera.QuotaKey) (hemera.QuotaAmount, error) {
	if key.Kind == hemera.QuotaProject {
		return n.record.Project, nil
	}
	return n.l.amount(n.limitKey(key))
}

// limitKey returns the key of the record of a user's or group's limit.
func (n *Node) limitKey(key hemera.QuotaKey) []byte {
	return schema.AccountKey(schema.TableLimit, uint64(n.entry.ID), schema.Account{Kind: key.Kind, ID: key.ID})
}

// SetLimit changes a limit from old, which is what [Node.Limit] returned; without any amount it is removed.
// [Node.Store] has to follow.
func (n *Node) SetLimit(key hemera.QuotaKey, old, fresh hemera.QuotaAmount) {
	if key.Kind == hemera.QuotaProject {
		n.record.Project = fresh
		return
	}
	none := hemera.QuotaAmount{}
	// The record counts limits, so that a node without any need not be looked through.
	if old != none {
		n.record.Limits--
	}
	if fresh == none {
		n.l.Remove(n.limitKey(key))
		return
	}
	n.record.Limits++
	n.l.Set(n.limitKey(key), &fresh, schema.EncodeAmount(&fresh))
}

// Store stores the node, and says at its entry that it is one.
func (n *Node) Store() {
	if !n.entry.Quota {
		n.entry.Quota = true
		n.l.PutEntry(&n.entry)
	}
	n.l.putNode(n.entry.ID, n.record)
}
