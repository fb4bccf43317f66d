package namespace

import (
	"context"

	"hemera"
	"hemera/errs"
	"hemera/kv"
)

// tally counts what users and groups use in the realm of a directory: below it, and not below an
// active quota node in between. Memory goes with the depth of the tree and the number of accounts.
func tally(ctx context.Context, r kv.Reader, dir hemera.FileID) (map[account]hemera.QuotaAmount, error) {
	c := &census{ctx: ctx, r: r, sums: make(map[account]hemera.QuotaAmount)}
	stack := [][]byte{entryKey(dir, "")} // where to go on in each directory that is open
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		below, err := c.files(at)
		if err != nil {
			return nil, err
		}
		if below == nil {
			stack = stack[:len(stack)-1]
			continue
		}
		stack[len(stack)-1] = append(entryKey(below.Parent, below.Name), 0)
		inside, err := c.inside(below)
		if err != nil {
			return nil, err
		}
		if inside {
			stack = append(stack, entryKey(below.ID, ""))
		}
	}
	return c.sums, nil
}

type census struct {
	ctx  context.Context
	r    kv.Reader
	sums map[account]hemera.QuotaAmount
}

// files counts the files of one directory from a key on, up to the next directory, which it returns.
func (c *census) files(from []byte) (below *hemera.Entry, err error) {
	var bad error
	err = c.r.Scan(c.ctx, from, after(from[:10]), func(k, raw []byte) bool {
		e, err := decodeEntry(k, raw)
		if err != nil {
			bad = damaged(k, err)
			return false
		}
		if e.IsDir() {
			below = e
			return false
		}
		used := weigh(e)
		for _, a := range [...]account{{hemera.QuotaUser, e.UID}, {hemera.QuotaGroup, e.GID}} {
			c.sums[a] = c.sums[a].Add(used)
		}
		return true
	})
	if err == nil {
		err = bad
	}
	return below, errs.Wrap(err, "namespace.CountQuotas", "")
}

// inside reports whether the directory belongs to the realm.
func (c *census) inside(dir *hemera.Entry) (bool, error) {
	if !dir.Quota {
		return true, nil
	}
	q, err := nodeIn(c.ctx, c.r, dir.ID)
	if err != nil {
		return false, err
	}
	return !q.active(), nil
}

func nodeIn(ctx context.Context, r kv.Reader, dir hemera.FileID) (*quotaNode, error) {
	k := idKey(tabNode, dir)
	raw, err := r.Get(ctx, k)
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Quotas", "fid:"+dir.String())
	}
	q, err := decodeQuotaNode(k, raw)
	if err != nil {
		return nil, damaged(k, err)
	}
	return q, nil
}
