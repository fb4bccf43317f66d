package namespace

import (
	"context"
	"math"

	"hemera/namespace/accounts"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Limits are set and removed here; package accounts keeps them and the usage. A change of limits takes effect with
// its batch. A new node's limits of users and groups hold once the counter has counted what is there.

// QuotaAdmin keeps what users, groups and projects may use, and do; it implements adminapi.QuotaAdmin. The manager enforces
// limits when it opens files, with Prepared.Quota, and a commit of more than was promised then is refused if it exceeds
// one. Renames and changes of owner enforce them themselves: OverQuota.
type QuotaAdmin struct {
	engine  *engine
	counter *accounts.Counter
}

// SetQuota implements adminapi.QuotaAdmin. Users' and groups' usage is known when the counter has
// counted what is there already.
func (n *QuotaAdmin) SetQuota(ctx context.Context, who hemera.Identity, key hemera.QuotaKey, limits hemera.QuotaAmount) error {
	if err := checkQuotaKey("SetQuota", key); err != nil {
		return err
	}
	for _, l := range []int64{limits.Files, limits.Bytes, limits.Physical} {
		if l < adminapi.QuotaKeep || l > math.MaxInt64/4 {
			return refuse(errs.Invalid, "SetQuota", key.Path, "%d is not a limit", l)
		}
	}
	defer n.counter.Wake()
	return n.engine.update(ctx, func(t tx) error {
		dir, node, err := t.quotaNode("SetQuota", who, key.Path)
		if err != nil {
			return err
		}
		old, err := node.Limit(key)
		if err != nil {
			return err
		}
		fresh := hemera.QuotaAmount{Files: limitOr(limits.Files, old.Files), Bytes: limitOr(limits.Bytes, old.Bytes), Physical: limitOr(limits.Physical, old.Physical)}
		if old == fresh && !node.Limited() {
			return refuse(errs.Invalid, "SetQuota", key.Path, "no limit is given")
		}
		node.SetLimit(key, old, fresh)
		node.Store()
		t.Event(hemera.Event{Kind: hemera.EventAttributes, File: dir.ID, Path: key.Path, Who: who.Name})
		return nil
	})
}

// limitOr returns the limit, or the old one if that is to be kept.
func limitOr(limit, old int64) int64 {
	if limit == adminapi.QuotaKeep {
		return old
	}
	return limit
}

// checkQuotaKey refuses a kind that is none.
func checkQuotaKey(op string, key hemera.QuotaKey) error {
	if key.Kind < hemera.QuotaUser || key.Kind > hemera.QuotaProject {
		return refuse(errs.Invalid, op, key.Path, "a quota is of a user, a group or a project")
	}
	return nil
}

// quotaNode returns a directory, and its limits for a change.
func (t tx) quotaNode(op string, who hemera.Identity, path string) (*hemera.Entry, *accounts.Node, error) {
	f, err := t.existing(op, who, path)
	if err != nil {
		return nil, nil, err
	}
	if !f.entry.IsDir() {
		return nil, nil, refuse(errs.NotDirectory, op, path, "quotas are set on directories, it is a file")
	}
	node, err := t.ledger().Node(f.entry)
	return f.entry, node, err
}

// limitsAtOnce is the number of limits that one change removes.
const limitsAtOnce = 256

// RemoveQuota implements adminapi.QuotaAdmin. Without a kind all limits of the directory are removed, in changes of
// a bounded size: if one fails, calling it again goes on.
func (n *QuotaAdmin) RemoveQuota(ctx context.Context, who hemera.Identity, key hemera.QuotaKey) error {
	if key.Kind != 0 {
		if err := checkQuotaKey("RemoveQuota", key); err != nil {
			return err
		}
		return n.removeLimits(ctx, who, key.Path, []hemera.QuotaKey{key})
	}
	var dir hemera.FileID
	err := n.engine.view(ctx, func(t tx) error {
		e, _, err := t.quotaNode("RemoveQuota", who, key.Path)
		if err == nil && !e.Quota {
			err = refuse(errs.NotFound, "RemoveQuota", key.Path, "the directory is not a quota node")
		}
		if err == nil {
			dir = e.ID
		}
		return err
	})
	keys := []hemera.QuotaKey{{Kind: hemera.QuotaProject}}
	for err == nil {
		found, listErr := accounts.LimitKeys(ctx, n.engine.records.Engine(), dir, limitsAtOnce)
		if listErr != nil {
			return listErr
		}
		for _, a := range found {
			keys = append(keys, hemera.QuotaKey{Kind: a.Kind, ID: a.ID})
		}
		err = n.removeLimits(ctx, who, key.Path, keys)
		if len(found) < limitsAtOnce {
			break
		}
		keys = nil
	}
	return err
}

// removeLimits removes limits of one node. A single limit with a path must be there; of several, some may be missing.
func (n *QuotaAdmin) removeLimits(ctx context.Context, who hemera.Identity, path string, keys []hemera.QuotaKey) error {
	defer n.counter.Wake()
	return n.engine.update(ctx, func(t tx) error {
		dir, node, err := t.quotaNode("RemoveQuota", who, path)
		if err != nil {
			return err
		}
		for _, key := range keys {
			old, err := node.Limit(key)
			if err != nil {
				return err
			}
			if old == (hemera.QuotaAmount{}) && len(keys) == 1 && key.Path != "" {
				return errs.New(errs.NotFound, "namespace.RemoveQuota", path, "there is no such limit").
					WithRemedy("`hemera quota ls -p " + path + "` shows those there are")
			}
			node.SetLimit(key, old, hemera.QuotaAmount{})
		}
		if dir.Quota {
			node.Store()
			t.Event(hemera.Event{Kind: hemera.EventAttributes, File: dir.ID, Path: path, Who: who.Name})
		}
		return nil
	})
}

// Quotas implements adminapi.QuotaAdmin: the limits and usage that matter at the path, or of all quota nodes if the
// path is empty. All rows are of one snapshot.
func (n *QuotaAdmin) Quotas(ctx context.Context, who hemera.Identity, path string) ([]hemera.QuotaRow, error) {
	var dirs []hemera.FileID // empty: all
	if path != "" {
		err := n.engine.view(ctx, func(t tx) error {
			f, err := t.existing("Quotas", who, path)
			if err != nil {
				return err
			}
			dirs = dirs[:0]
			for _, dir := range append(f.dirs, f.entry) {
				if dir.Quota {
					dirs = append(dirs, dir.ID)
				}
			}
			return nil
		})
		if err != nil || len(dirs) == 0 {
			return nil, err
		}
	}
	snap, err := n.engine.records.Engine().Snapshot(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Quotas", path)
	}
	rows, err := accounts.List(ctx, snap, dirs)
	if closeErr := snap.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, errs.Wrap(err, "namespace.Quotas", path)
	}
	return rows, n.engine.records.Settle(ctx)
}

// RunQuotas counts what is below new quota nodes, until ctx ends. It is called once.
func (n *QuotaAdmin) RunQuotas(ctx context.Context) error { return n.counter.Run(ctx) }

// CountQuotas counts what is below new quota nodes, and returns when nothing is left to do.
func (n *QuotaAdmin) CountQuotas(ctx context.Context) error { return n.counter.CountAll(ctx) }
