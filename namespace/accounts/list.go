package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Rows for an admin are read from one snapshot, so that usage and limits of all nodes belong together, without a
// turn among the changes and without filling the cache.

// List returns a row for every limit and every account of the nodes, out of one picture of the store; of all nodes if
// there are none in dirs.
func List(ctx context.Context, r kv.Reader, dirs []hemera.FileID) ([]hemera.QuotaRow, error) {
	l := &lister{ctx: ctx, r: r}
	if err := l.list(dirs); err != nil {
		return nil, err
	}
	slices.SortFunc(l.rows, func(a, b hemera.QuotaRow) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), order(a)-order(b), cmp.Compare(a.ID, b.ID))
	})
	return l.rows, nil
}

// order puts projects before users before groups.
func order(r hemera.QuotaRow) int {
	if r.Kind == hemera.QuotaProject {
		return 0
	}
	return int(r.Kind)
}

// lister reads the rows of nodes out of one picture of the store.
type lister struct {
	ctx  context.Context
	r    kv.Reader
	rows []hemera.QuotaRow // in no order
}

// list reads the rows of the nodes. A node that ended since the caller learned of it is passed over.
func (l *lister) list(dirs []hemera.FileID) error {
	if len(dirs) == 0 {
		prefix := schema.TableKey(schema.TableQuotaNode)
		if err := l.r.Scan(l.ctx, prefix, schema.PrefixEnd(prefix), func(k, _ []byte) bool {
			dirs = append(dirs, schema.IDOf(k))
			return true
		}); err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		q, err := readNode(l.ctx, l.r, dir)
		if errors.Is(err, errs.NotFound) {
			continue // ended since the path was walked
		}
		if err != nil {
			return err
		}
		if err := l.node(dir, q); err != nil {
			return err
		}
	}
	return nil
}

// node reads the rows of one node: of each limit, and of each account that uses something without a limit of its
// own.
func (l *lister) node(dir hemera.FileID, q *schema.QuotaNode) error {
	path, err := l.path(dir)
	if err != nil {
		return err
	}
	if q.Project != (hemera.QuotaAmount{}) {
		row, err := l.project(dir, path, q)
		if err != nil {
			return err
		}
		l.rows = append(l.rows, row)
	}
	limits, err := l.amounts(schema.TableLimit, uint64(dir))
	if err != nil {
		return err
	}
	used, err := l.amounts(schema.TableAccount, q.Set)
	if err != nil {
		return err
	}
	// While a node is counted its usage is not exact, and may even be negative: the row says so.
	row := func(a schema.Account, limit hemera.QuotaAmount, fallback bool) {
		l.rows = append(l.rows, hemera.QuotaRow{QuotaKey: hemera.QuotaKey{Path: path, Kind: a.Kind, ID: a.ID},
			Limits: limit, Used: used[a], Default: fallback, Counting: q.State != schema.NodeExact})
	}
	// The limit for everybody without one of their own is a row, too; its usage says nothing.
	for a, limit := range limits {
		row(a, limit, a.ID == hemera.QuotaDefault)
	}
	// Accounts without a limit of their own are shown with the default one, if there is any.
	for a := range used {
		if _, listed := limits[a]; !listed {
			row(a, limits[schema.Account{Kind: a.Kind, ID: hemera.QuotaDefault}], true)
		}
	}
	return nil
}

// project returns the row of the limits of the whole tree.
func (l *lister) project(dir hemera.FileID, path string, q *schema.QuotaNode) (hemera.QuotaRow, error) {
	k := schema.IDKey(schema.TableDirectory, dir)
	raw, err := l.r.Get(l.ctx, k)
	if err != nil {
		return hemera.QuotaRow{}, err
	}
	s, err := schema.DecodeDirectory(k, raw)
	if err != nil {
		return hemera.QuotaRow{}, schema.Damaged(k, err)
	}
	return hemera.QuotaRow{QuotaKey: hemera.QuotaKey{Path: path, Kind: hemera.QuotaProject}, Limits: q.Project,
		Used: schema.TreeUsage(s.Tree)}, nil
}

// amounts reads the limits of a directory or the accounts of a set.
func (l *lister) amounts(table byte, of uint64) (map[schema.Account]hemera.QuotaAmount, error) {
	out := make(map[schema.Account]hemera.QuotaAmount)
	var bad error
	prefix := schema.IDKey(table, hemera.FileID(of))
	err := l.r.Scan(l.ctx, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) bool {
		a, err := schema.DecodeAmount(k, raw)
		if err != nil {
			bad = schema.Damaged(k, err)
			return false
		}
		out[schema.AccountOf(k)] = *a
		return true
	})
	if err == nil {
		err = bad
	}
	return out, err
}

// path follows locations up to the root. The path may be longer than paths may be, as in tables.Txn.Above.
func (l *lister) path(dir hemera.FileID) (string, error) {
	var names []string
	for at := dir; at != hemera.RootID; {
		k := schema.IDKey(schema.TableLocation, at)
		raw, err := l.r.Get(l.ctx, k)
		if err != nil {
			return "", err
		}
		p, err := schema.DecodeLocation(k, raw)
		if err != nil || len(names) == tables.LevelsMax {
			return "", schema.Damaged(k, schema.ErrRecord)
		}
		names, at = append(names, p.Name), p.Parent
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/"), nil
}
