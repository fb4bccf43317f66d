package accounts

import (
	"context"

	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Counting walks a tree in the order of its keys, one directory after the other, out of one picture of the store.
// It reads only the headers of entries. A directory is met among the names of its parent: the walk leaves the
// parent there, counts what is below, and goes on behind that name. So memory grows with the depth of the tree and
// the number of accounts, not with files.

// countUsage counts what users and groups use in the realm of a directory: below it, and not below an
// active quota node in between. Memory grows with the depth of the tree and the number of accounts.
func countUsage(ctx context.Context, r kv.Reader, dir hemera.FileID) (map[schema.Account]hemera.QuotaAmount, error) {
	c := &usageCounter{ctx: ctx, r: r, sums: make(map[schema.Account]hemera.QuotaAmount)}
	// A stack and not a recursion: a tree may be deeper than a goroutine's stack should be.
	stack := [][]byte{schema.EntryKey(dir, "")} // where to go on in each directory that is open
	for len(stack) > 0 {
		below, next, err := c.files(stack[len(stack)-1])
		if err != nil {
			return nil, err
		}
		if next == nil {
			stack = stack[:len(stack)-1]
			continue
		}
		stack[len(stack)-1] = next
		if below != 0 {
			stack = append(stack, schema.EntryKey(below, ""))
		}
	}
	return c.sums, nil
}

// usageCounter walks a tree in the order of its keys and adds up its files by account.
type usageCounter struct {
	ctx  context.Context
	r    kv.Reader // one picture, so that a file is not counted at two places
	sums map[schema.Account]hemera.QuotaAmount
	at   schema.EntryHeader // of the entry that was read last
}

// files counts the files of one directory from a key on, up to the next directory among its names. It returns that
// directory, or zero if it is of another realm, and the key to go on from, nil at the end.
func (c *usageCounter) files(from []byte) (below hemera.FileID, next []byte, err error) {
	var bad error
	err = c.r.Scan(c.ctx, from, schema.PrefixEnd(from[:10]), func(k, raw []byte) bool {
		if err := c.at.Decode(k, raw); err != nil {
			bad = schema.Damaged(k, err)
			return false
		}
		if c.at.Kind == hemera.KindDirectory {
			// The scan ends here, and goes on behind this name when the directory below has been counted.
			next = append(append(make([]byte, 0, len(k)+1), k...), 0)
			return false
		}
		c.file()
		return true
	})
	if err == nil {
		err = bad
	}
	if err != nil || next == nil { // no directory is left among the names
		return 0, nil, errs.Wrap(err, "namespace.CountQuotas", "")
	}
	if c.at.Quota { // an active node is a realm of its own
		q, err := readNode(c.ctx, c.r, c.at.ID)
		if err != nil || q.Active() {
			return 0, next, err
		}
	}
	return c.at.ID, next, nil
}

// file adds the file whose header was read last to the accounts of its user and its group.
func (c *usageCounter) file() {
	used := schema.FileUsage(c.at.Entry())
	for _, a := range [...]schema.Account{schema.UserAccount(c.at.UID), schema.GroupAccount(c.at.GID)} {
		c.sums[a] = c.sums[a].Add(used)
	}
}

// readNode reads a quota node out of a picture of the store. NotFound if the directory is none.
func readNode(ctx context.Context, r kv.Reader, dir hemera.FileID) (*schema.QuotaNode, error) {
	k := schema.IDKey(schema.TableQuotaNode, dir)
	raw, err := r.Get(ctx, k)
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Quotas", "fid:"+dir.String())
	}
	q, err := schema.DecodeQuotaNode(k, raw)
	if err != nil {
		return nil, schema.Damaged(k, err)
	}
	return q, nil
}
