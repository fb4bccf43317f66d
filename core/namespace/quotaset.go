package namespace

import (
	"context"
	"math"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

// SetQuota implements hemera.QuotaAdmin. Users' and groups' usage is known when CountQuotas has
// counted what is there already.
func (n *Namespace) SetQuota(ctx context.Context, who hemera.Identity, key hemera.QuotaKey, limits hemera.QuotaAmount) error {
	if err := checkQuotaKey("SetQuota", key); err != nil {
		return err
	}
	for _, l := range []int64{limits.Files, limits.Bytes, limits.Physical} {
		if l < hemera.QuotaKeep || l > math.MaxInt64/4 {
			return refuse(errs.Invalid, "SetQuota", key.Path, "%d is no limit", l)
		}
	}
	defer n.wakeCounter()
	return n.update(ctx, func(t *tx) error {
		e, q, err := t.quotaAt("SetQuota", who, key.Path)
		if err != nil {
			return err
		}
		old, err := t.limit(e.ID, q, key)
		if err != nil {
			return err
		}
		fresh := hemera.QuotaAmount{Files: keep(limits.Files, old.Files), Bytes: keep(limits.Bytes, old.Bytes), Physical: keep(limits.Physical, old.Physical)}
		if old == fresh && !q.Limited() {
			return refuse(errs.Invalid, "SetQuota", key.Path, "no limit is given")
		}
		t.putLimit(e.ID, q, key, old, fresh)
		if !e.Quota {
			e.Quota = true
			t.putEntry(e)
		}
		t.putQuotaNode(e.ID, *q)
		t.event(hemera.Event{Kind: hemera.EventAttributes, File: e.ID, Path: key.Path, Who: who.Name})
		return nil
	})
}

func keep(limit, old int64) int64 {
	if limit == hemera.QuotaKeep {
		return old
	}
	return limit
}

func checkQuotaKey(op string, key hemera.QuotaKey) error {
	if key.Kind < hemera.QuotaUser || key.Kind > hemera.QuotaProject {
		return refuse(errs.Invalid, op, key.Path, "a quota is of a user, a group or a project")
	}
	return nil
}

// quotaAt is a copy of the directory and of its node; of one that is none yet a new, waiting node.
func (t *tx) quotaAt(op string, who hemera.Identity, path string) (*hemera.Entry, *schema.QuotaNode, error) {
	f, err := t.existing(op, who, path)
	if err != nil {
		return nil, nil, err
	}
	if !f.entry.IsDir() {
		return nil, nil, refuse(errs.NotDirectory, op, path, "quotas are set on directories, it is a file")
	}
	e := *f.entry
	if !e.Quota {
		return &e, &schema.QuotaNode{State: schema.NodeWaiting}, nil
	}
	q, err := t.quotaNode(e.ID)
	if err != nil {
		return nil, nil, err
	}
	copied := *q
	return &e, &copied, nil
}

// limit is what is set for exactly this key.
func (t *tx) limit(dir hemera.FileID, q *schema.QuotaNode, key hemera.QuotaKey) (hemera.QuotaAmount, error) {
	if key.Kind == hemera.QuotaProject {
		return q.Project, nil
	}
	return t.amount(schema.AccountKey(schema.TableLimit, uint64(dir), schema.Account{Kind: key.Kind, ID: key.ID}))
}

// putLimit changes a limit, and q to match; the caller stores q.
func (t *tx) putLimit(dir hemera.FileID, q *schema.QuotaNode, key hemera.QuotaKey, old, fresh hemera.QuotaAmount) {
	if key.Kind == hemera.QuotaProject {
		q.Project = fresh
		return
	}
	none := hemera.QuotaAmount{}
	if old != none {
		q.Limits--
	}
	k := schema.AccountKey(schema.TableLimit, uint64(dir), schema.Account{Kind: key.Kind, ID: key.ID})
	if fresh == none {
		t.remove(k)
		return
	}
	q.Limits++
	t.set(k, &fresh, schema.EncodeAmount(&fresh))
}

// limitsAtOnce is how many limits one change removes.
const limitsAtOnce = 256

// RemoveQuota implements hemera.QuotaAdmin.
func (n *Namespace) RemoveQuota(ctx context.Context, who hemera.Identity, key hemera.QuotaKey) error {
	if key.Kind != 0 {
		if err := checkQuotaKey("RemoveQuota", key); err != nil {
			return err
		}
		return n.removeLimits(ctx, who, key.Path, []hemera.QuotaKey{key})
	}
	var dir hemera.FileID
	err := n.view(ctx, func(t *tx) error {
		e, _, err := t.quotaAt("RemoveQuota", who, key.Path)
		if err == nil && !e.Quota {
			err = refuse(errs.NotFound, "RemoveQuota", key.Path, "the directory is no quota node")
		}
		if err == nil {
			dir = e.ID
		}
		return err
	})
	keys := []hemera.QuotaKey{{Kind: hemera.QuotaProject}}
	for err == nil {
		var found [][]byte
		if found, err = n.keys(ctx, schema.IDKey(schema.TableLimit, dir), limitsAtOnce); err != nil {
			break
		}
		for _, k := range found {
			a := schema.AccountOf(k)
			keys = append(keys, hemera.QuotaKey{Kind: a.Kind, ID: a.ID})
		}
		if err = n.removeLimits(ctx, who, key.Path, keys); len(found) < limitsAtOnce {
			break
		}
		keys = nil
	}
	return err
}

// removeLimits removes limits of one node. Of several some may be missing, of one not.
func (n *Namespace) removeLimits(ctx context.Context, who hemera.Identity, path string, keys []hemera.QuotaKey) error {
	defer n.wakeCounter()
	return n.update(ctx, func(t *tx) error {
		e, q, err := t.quotaAt("RemoveQuota", who, path)
		if err != nil {
			return err
		}
		for _, key := range keys {
			old, err := t.limit(e.ID, q, key)
			if err != nil {
				return err
			}
			if old == (hemera.QuotaAmount{}) && len(keys) == 1 && key.Path != "" {
				return errs.New(errs.NotFound, "namespace.RemoveQuota", path, "there is no such limit").
					WithRemedy("`hemera quota ls -p " + path + "` shows those there are")
			}
			t.putLimit(e.ID, q, key, old, hemera.QuotaAmount{})
		}
		if e.Quota {
			t.putQuotaNode(e.ID, *q)
			t.event(hemera.Event{Kind: hemera.EventAttributes, File: e.ID, Path: path, Who: who.Name})
		}
		return nil
	})
}

// keys lists some keys with a prefix.
func (n *Namespace) keys(ctx context.Context, prefix []byte, limit int) (out [][]byte, err error) {
	err = n.store.Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, _ []byte) bool {
		out = append(out, append([]byte(nil), k...))
		return len(out) < limit
	})
	return out, errs.Wrap(err, "namespace", "")
}

// unfit refuses to remove a directory that has limits: they would be gone unseen, with whatever
// they were to protect.
func unfit(op, path string, e *hemera.Entry) error {
	if !e.Quota {
		return nil
	}
	return errs.New(errs.Denied, "namespace."+op, path, "the directory is a quota node").
		WithRemedy("remove its limits first: `hemera quota rmnode -p " + path + "`")
}
