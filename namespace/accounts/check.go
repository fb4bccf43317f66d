package accounts

import (
	"context"

	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/words/hemera"
)

// The stored accounts are right if each set has what the files of its realm use. A realm is counted from the
// entries, as when the node was new, and compared with the stored sums. Nodes whose files are being counted,
// merged or ended are the hard part: parts of their usage are in the side set or at the node above. The check
// moves those parts, as the counter would, before it compares.

// Check counts every quota node's realm again, in the picture r, and names what does not agree with its accounts.
// marked is the number of directories whose entries say that they are nodes. It reads each realm once, which may
// be the whole tree; memory grows with the number of accounts.
func Check(ctx context.Context, r kv.Reader, marked int64, problem func(format string, args ...any)) error {
	c := &checker{ctx: ctx, r: r, problem: problem, sets: make(map[uint64]map[schema.Account]hemera.QuotaAmount)}
	if err := c.nodes(marked); err != nil {
		return err
	}
	if err := c.limits(); err != nil {
		return err
	}
	if err := c.accounts(); err != nil {
		return err
	}
	for dir, q := range c.all {
		if err := c.realm(dir, q); err != nil {
			return err
		}
	}
	c.compare()
	return nil
}

// checker is one check in progress.
type checker struct {
	ctx     context.Context
	r       kv.Reader
	problem func(format string, args ...any)    // notes what does not agree
	all     map[hemera.FileID]*schema.QuotaNode // every node, by its directory
	// sets has the members that each set should have and has not.
	sets map[uint64]map[schema.Account]hemera.QuotaAmount
}

// scan visits all records of a table.
func (c *checker) scan(table byte, visit func(k, raw []byte)) error {
	return c.r.Scan(c.ctx, schema.TableKey(table), schema.PrefixEnd(schema.TableKey(table)), func(k, raw []byte) bool { visit(k, raw); return true })
}

// nodes reads all quota nodes.
func (c *checker) nodes(marked int64) error {
	c.all = make(map[hemera.FileID]*schema.QuotaNode)
	err := c.scan(schema.TableQuotaNode, func(k, raw []byte) {
		q, err := schema.DecodeQuotaNode(k, raw)
		if err != nil {
			c.problem("quota node %x: %v", k, err)
			return
		}
		c.all[schema.IDOf(k)] = q
	})
	// An entry without a record, or a record without an entry: changes below would fail, or charge nothing.
	if int64(len(c.all)) != marked && err == nil {
		c.problem("%d directories say that they are quota nodes, %d have records", marked, len(c.all))
	}
	return err
}

// limits compares the number of limits that each node's record says with those that exist.
func (c *checker) limits() error {
	count := make(map[hemera.FileID]uint64)
	err := c.scan(schema.TableLimit, func(k, raw []byte) {
		if a, err := schema.DecodeAmount(k, raw); err != nil || *a == (hemera.QuotaAmount{}) || schema.AccountOf(k) == (schema.Account{}) {
			c.problem("limit %x: %v, %v", k, a, err)
		}
		count[schema.IDOf(k)]++
	})
	for dir, q := range c.all {
		// A wrong number would end a node that has limits, or keep one without.
		if q.Limits != count[dir] && err == nil {
			c.problem("quota node %s: %d limits, its record says %d", dir, count[dir], q.Limits)
		}
		delete(count, dir)
	}
	// What is left belongs to directories that are no nodes.
	for dir, n := range count {
		c.problem("%d limits of %s, which is no quota node", n, dir)
	}
	return err
}

// accounts reads what is stored, with its sign turned: what is counted is added later, and zero must be left.
func (c *checker) accounts() error {
	return c.scan(schema.TableAccount, func(k, raw []byte) {
		used, err := schema.DecodeAmount(k, raw)
		if err != nil || schema.AccountOf(k) == (schema.Account{}) {
			c.problem("account %x: %v", k, err)
			return
		}
		c.add(schema.Uint64At(k, 2), map[schema.Account]hemera.QuotaAmount{schema.AccountOf(k): used.Negate()})
	})
}

// add adds sums to the accounts of a set.
func (c *checker) add(set uint64, sums map[schema.Account]hemera.QuotaAmount) {
	if c.sets[set] == nil {
		c.sets[set] = make(map[schema.Account]hemera.QuotaAmount)
	}
	for a, used := range sums {
		c.sets[set][a] = c.sets[set][a].Add(used)
	}
}

// realm adds what a node's set should have. While a node is counted, or ends, part of that is in other sets, whose
// states say which; the sums of all of them are right at any time.
func (c *checker) realm(dir hemera.FileID, q *schema.QuotaNode) error {
	if q.Active() {
		sums, err := countUsage(c.ctx, c.r, dir)
		if err != nil {
			c.problem("quota node %s: %v", dir, err)
			return nil
		}
		c.add(q.Set, sums)
	}
	// Each state is handled as the counter will go on from it.
	switch q.State {
	case schema.NodeCounting: // what the node above has too much, the node has too little
		c.move(q.Set, q.From)
		delete(c.sets, q.Side)
	case schema.NodeMerging:
		for a, used := range c.sets[q.Side] {
			c.add(q.Set, map[schema.Account]hemera.QuotaAmount{a: used})
			if q.From != 0 {
				c.add(q.From, map[schema.Account]hemera.QuotaAmount{a: used.Negate()})
			}
		}
		delete(c.sets, q.Side)
	case schema.NodeEnding: // its files count above already, what it had is on its way there
		c.move(q.Set, q.From)
	}
	return nil
}

// move puts what is left of a set to another one, or drops it if there is none.
func (c *checker) move(set, to uint64) {
	if to != 0 {
		c.add(to, c.sets[set])
	}
	delete(c.sets, set)
}

// compare names each account that has something left.
func (c *checker) compare() {
	// Sets of no node must have come to nothing, too.
	for set, sums := range c.sets {
		for a, missing := range sums {
			if missing != (hemera.QuotaAmount{}) {
				c.problem("%s %d in quota set %d: counted minus stored usage is %+v", a.Kind, a.ID, set, missing)
			}
		}
	}
}
