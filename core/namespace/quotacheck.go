package namespace

import (
	"context"

	"hemera"
	"hemera/platform/kv"
)

// checkQuotas counts every quota node's realm anew and names what does not agree with its accounts.
// marked is how many directories say that they are nodes.
func checkQuotas(ctx context.Context, r kv.Reader, marked int64, problem func(format string, args ...any)) error {
	c := &quotaChecker{ctx: ctx, r: r, problem: problem, sets: make(map[uint64]map[account]hemera.QuotaAmount)}
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

type quotaChecker struct {
	ctx     context.Context
	r       kv.Reader
	problem func(format string, args ...any)
	all     map[hemera.FileID]*quotaNode
	// sets is what each set should have and has not.
	sets map[uint64]map[account]hemera.QuotaAmount
}

func (c *quotaChecker) scan(table byte, visit func(k, raw []byte)) error {
	return c.r.Scan(c.ctx, key(table), after(key(table)), func(k, raw []byte) bool { visit(k, raw); return true })
}

func (c *quotaChecker) nodes(marked int64) error {
	c.all = make(map[hemera.FileID]*quotaNode)
	err := c.scan(tabNode, func(k, raw []byte) {
		q, err := decodeQuotaNode(k, raw)
		if err != nil {
			c.problem("quota node %x: %v", k, err)
			return
		}
		c.all[hemera.FileID(number(k, 2))] = q
	})
	if int64(len(c.all)) != marked && err == nil {
		c.problem("%d directories say that they are quota nodes, %d have records", marked, len(c.all))
	}
	return err
}

func (c *quotaChecker) limits() error {
	count := make(map[hemera.FileID]uint64)
	err := c.scan(tabLimit, func(k, raw []byte) {
		if a, err := decodeAmount(k, raw); err != nil || *a == (hemera.QuotaAmount{}) || accountOf(k) == (account{}) {
			c.problem("limit %x: %v, %v", k, a, err)
		}
		count[hemera.FileID(number(k, 2))]++
	})
	for dir, q := range c.all {
		if q.Limits != count[dir] && err == nil {
			c.problem("quota node %s: %d limits, its record says %d", dir, count[dir], q.Limits)
		}
		delete(count, dir)
	}
	for dir, n := range count {
		c.problem("%d limits of %s, which is no quota node", n, dir)
	}
	return err
}

// accounts reads what is stored, with the sign turned.
func (c *quotaChecker) accounts() error {
	return c.scan(tabAccount, func(k, raw []byte) {
		used, err := decodeAmount(k, raw)
		if err != nil || accountOf(k) == (account{}) {
			c.problem("account %x: %v", k, err)
			return
		}
		c.add(number(k, 2), map[account]hemera.QuotaAmount{accountOf(k): used.Negate()})
	})
}

func (c *quotaChecker) add(set uint64, sums map[account]hemera.QuotaAmount) {
	if c.sets[set] == nil {
		c.sets[set] = make(map[account]hemera.QuotaAmount)
	}
	for a, used := range sums {
		c.sets[set][a] = c.sets[set][a].Add(used)
	}
}

// realm adds what a node's set should have. While it is counted, or ends, part of that is in other sets:
// the sums of them all are right at any time.
func (c *quotaChecker) realm(dir hemera.FileID, q *quotaNode) error {
	if q.active() {
		sums, err := tally(c.ctx, c.r, dir)
		if err != nil {
			c.problem("quota node %s: %v", dir, err)
			return nil
		}
		c.add(q.Set, sums)
	}
	switch q.State {
	case nodeCounting: // what the node above has too much, the node has too little
		c.move(q.Set, q.From)
		delete(c.sets, q.Side)
	case nodeMerging:
		for a, used := range c.sets[q.Side] {
			c.add(q.Set, map[account]hemera.QuotaAmount{a: used})
			if q.From != 0 {
				c.add(q.From, map[account]hemera.QuotaAmount{a: used.Negate()})
			}
		}
		delete(c.sets, q.Side)
	case nodeEnding:
		c.move(q.Set, q.From)
	}
	return nil
}

func (c *quotaChecker) move(set, to uint64) {
	if to != 0 {
		c.add(to, c.sets[set])
	}
	delete(c.sets, set)
}

func (c *quotaChecker) compare() {
	for set, sums := range c.sets {
		for a, missing := range sums {
			if missing != (hemera.QuotaAmount{}) {
				c.problem("%s %d in quota set %d: counted minus stored usage is %+v", a.kind, a.id, set, missing)
			}
		}
	}
}

func (c *checker) quotas() error {
	return checkQuotas(c.ctx, c.view, c.found.quotaNodes, c.problem)
}
