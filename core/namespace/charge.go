package namespace

import (
	"path"
	"slices"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/rules/quota"
)

// charge settles the change of a file below the last of dirs, from what it was to what it is, nil
// for nothing, with the users and groups of its quota node.
func (t *tx) charge(dirs []*hemera.Entry, before, after *hemera.Entry) error {
	set, err := t.realm(dirs)
	if err != nil || set == 0 {
		return err
	}
	if before != nil {
		err = t.credit(set, before, schema.FileUsage(before).Negate())
	}
	if after != nil && err == nil {
		err = t.credit(set, after, schema.FileUsage(after))
	}
	return err
}

// settle refuses a content that is larger than its open promised and would exceed a limit, and has the
// write's claim counted as usage. How many files there may be was decided at the open.
func (t *tx) settle(dirs []*hemera.Entry, before, after *hemera.Entry, c *Commit) error {
	if c.ReleaseClaim == nil || !marked(dirs) {
		return nil
	}
	var limits []quota.Standing
	if c.Size > c.Promised {
		var err error
		if limits, err = t.standings(dirs, after.UID, after.GID); err != nil {
			return err
		}
	}
	want := quota.Want{QuotaAmount: schema.FileUsage(after)}
	if before != nil {
		want.QuotaAmount = want.Add(schema.FileUsage(before).Negate())
	}
	want.Files = 0
	return within("Commit", after.Name, c.ReleaseClaim(limits), want)
}

// realm is the set of accounts in which files in the last of dirs count, zero if in none.
func (t *tx) realm(dirs []*hemera.Entry) (uint64, error) {
	_, q, err := t.nearest(dirs)
	if err != nil || q == nil {
		return 0, err
	}
	return q.Set, nil
}

// marked says that one of the directories has limits.
func marked(dirs []*hemera.Entry) bool {
	return slices.ContainsFunc(dirs, func(dir *hemera.Entry) bool { return dir.Quota })
}

// nearest is the last active quota node of dirs and its index; nil if there is none.
func (t *tx) nearest(dirs []*hemera.Entry) (int, *schema.QuotaNode, error) {
	for i, dir := range slices.Backward(dirs) {
		if !dir.Quota {
			continue
		}
		if q, err := t.quotaNode(dir.ID); err != nil || q.Active() {
			return i, q, err
		}
	}
	return 0, nil, nil
}

func (t *tx) quotaNode(dir hemera.FileID) (*schema.QuotaNode, error) {
	q, err := fetch(t, schema.IDKey(schema.TableQuotaNode, dir), schema.DecodeQuotaNode)
	if err == nil && q == nil {
		err = errs.New(errs.Corrupt, "namespace.Read", "fid:"+dir.String(), "the quota node has no record")
	}
	return q, err
}

func (t *tx) putQuotaNode(dir hemera.FileID, q schema.QuotaNode) {
	t.set(schema.IDKey(schema.TableQuotaNode, dir), &q, schema.EncodeQuotaNode(&q))
}

// credit adds to what the file's user and group use.
func (t *tx) credit(set uint64, e *hemera.Entry, delta hemera.QuotaAmount) error {
	if err := t.addTo(set, schema.UserAccount(e.UID), delta); err != nil {
		return err
	}
	return t.addTo(set, schema.GroupAccount(e.GID), delta)
}

// addTo adds to an account; one that comes to nothing is removed.
func (t *tx) addTo(set uint64, a schema.Account, delta hemera.QuotaAmount) error {
	k := schema.AccountKey(schema.TableAccount, set, a)
	used, err := t.amount(k)
	if err != nil {
		return err
	}
	if used = used.Add(delta); used == (hemera.QuotaAmount{}) {
		t.remove(k)
		return nil
	}
	t.set(k, &used, schema.EncodeAmount(&used))
	return nil
}

// amount reads an account or a limit; there is nothing where there is no record.
func (t *tx) amount(k []byte) (hemera.QuotaAmount, error) {
	a, err := fetch(t, k, schema.DecodeAmount)
	if err != nil || a == nil {
		return hemera.QuotaAmount{}, err
	}
	return *a, nil
}

// limits are those of the account at the node, or of everybody without limits of his own.
func (t *tx) limits(node hemera.FileID, a schema.Account) (hemera.QuotaAmount, error) {
	own, err := t.amount(schema.AccountKey(schema.TableLimit, uint64(node), a))
	if err != nil || own != (hemera.QuotaAmount{}) {
		return own, err
	}
	return t.amount(schema.AccountKey(schema.TableLimit, uint64(node), schema.Account{Kind: a.Kind, ID: hemera.QuotaDefault}))
}

// standings are all limits that hold for a file of the user and group in the last of dirs.
func (t *tx) standings(dirs []*hemera.Entry, uid, gid uint32) ([]quota.Standing, error) {
	out, err := t.projects(dirs, 0)
	if err != nil {
		return nil, err
	}
	accounts, err := t.accounts(dirs, schema.UserAccount(uid), schema.GroupAccount(gid))
	return append(out, accounts...), err
}

// projects are the limits of the directories themselves, beginning with the index.
func (t *tx) projects(dirs []*hemera.Entry, from int) (out []quota.Standing, err error) {
	for i := from; i < len(dirs); i++ {
		if !dirs[i].Quota {
			continue
		}
		q, err := t.quotaNode(dirs[i].ID)
		if err != nil {
			return nil, err
		}
		if q.Project == (hemera.QuotaAmount{}) {
			continue
		}
		s, err := t.state(dirs[i].ID)
		if err != nil {
			return nil, err
		}
		out = append(out, quota.Standing{Account: quota.Account{Node: dirs[i].ID, Kind: hemera.QuotaProject}, Path: pathTo(dirs, i),
			Limits: q.Project, Used: schema.TreeUsage(s.Tree)})
	}
	return out, nil
}

// accounts are the limits of users and groups at the nearest node, once its usage is exact.
func (t *tx) accounts(dirs []*hemera.Entry, all ...schema.Account) (out []quota.Standing, err error) {
	i, q, err := t.nearest(dirs)
	if err != nil || q == nil || q.State != schema.NodeExact || q.Limits == 0 {
		return nil, err
	}
	for _, a := range all {
		limits, err := t.limits(dirs[i].ID, a)
		if err != nil {
			return nil, err
		}
		if limits == (hemera.QuotaAmount{}) {
			continue
		}
		used, err := t.amount(schema.AccountKey(schema.TableAccount, q.Set, a))
		if err != nil {
			return nil, err
		}
		out = append(out, quota.Standing{Account: quota.Account{Node: dirs[i].ID, Kind: a.Kind, ID: a.ID}, Path: pathTo(dirs, i), Limits: limits, Used: used})
	}
	return out, nil
}

func pathTo(dirs []*hemera.Entry, last int) string {
	names := ""
	for _, dir := range dirs[1 : last+1] {
		names += "/" + dir.Name
	}
	return max(names, "/")
}

// standing is what an open for writing has to hold itself to; nil where no directory has limits.
// What it reads may not be durable yet, and the open does not wait for it: a limit is no promise.
func (t *tx) standing(f found, who hemera.Identity) ([]quota.Standing, error) {
	if !marked(f.dirs) {
		return nil, nil
	}
	uid, gid := who.UID, who.GID
	if f.entry != nil {
		uid, gid = f.entry.UID, f.entry.GID
	}
	aside := &tx{n: t.n, ctx: t.ctx, locked: t.locked}
	return aside.standings(f.dirs, uid, gid)
}

// rehome settles the move of an entry between directories. A file takes its usage along, a quota
// node its realm. Any other tree must stay within its realm: what each user and group has in it is
// not known without counting. same is how many directories are above both.
func (t *tx) rehome(f, target found, same int) error {
	if !marked(f.dirs) && !marked(target.dirs) {
		return nil
	}
	from, err := t.realm(f.dirs)
	if err != nil {
		return err
	}
	to, err := t.realm(target.dirs)
	if err != nil {
		return err
	}
	limits, err := t.projects(target.dirs, same)
	if err != nil {
		return err
	}
	into := pathTo(target.dirs, len(target.dirs)-1)
	if f.entry.IsDir() {
		s, err := t.state(f.entry.ID)
		if err != nil {
			return err
		}
		if from != to {
			if err := t.whole(pathTo(f.dirs, len(f.dirs)-1), f.entry, s.Tree); err != nil {
				return err
			}
		}
		return within("Rename", into, limits, quota.Want{QuotaAmount: schema.TreeUsage(s.Tree)})
	}
	if from == to {
		return within("Rename", into, limits, quota.Want{QuotaAmount: schema.FileUsage(f.entry)})
	}
	accounts, err := t.accounts(target.dirs, schema.UserAccount(f.entry.UID), schema.GroupAccount(f.entry.GID))
	if err != nil {
		return err
	}
	if err := within("Rename", into, append(limits, accounts...), quota.Want{QuotaAmount: schema.FileUsage(f.entry)}); err != nil {
		return err
	}
	if err := t.charge(f.dirs, f.entry, nil); err != nil {
		return err
	}
	return t.charge(target.dirs, nil, f.entry)
}

// whole refuses to take a tree out of its realm unless it is empty or a realm of its own. A node that
// is being counted stays too: if counting is cut off, its files are looked for where they were.
func (t *tx) whole(above string, dir *hemera.Entry, tree hemera.TreeTotals) error {
	empty := tree == hemera.TreeTotals{}
	if dir.Quota {
		q, err := t.quotaNode(dir.ID)
		if err != nil || q.State == schema.NodeExact {
			return err
		}
		empty = empty && !q.Active()
	}
	if empty {
		return nil
	}
	return errs.New(errs.Unsupported, "namespace.Rename", path.Join(above, dir.Name), "what is in the directory would count in another quota node").
		WithRemedy("move its files one by one, or copy them and remove the old; a directory that is a quota node itself can be moved once it is counted")
}

// reown settles the change of a file's owner, and refuses what would exceed the new owner's limits.
func (t *tx) reown(f found, e *hemera.Entry) error {
	if e.IsDir() || e.UID == f.entry.UID && e.GID == f.entry.GID {
		return nil
	}
	var gaining []schema.Account
	if e.UID != f.entry.UID {
		gaining = append(gaining, schema.UserAccount(e.UID))
	}
	if e.GID != f.entry.GID {
		gaining = append(gaining, schema.GroupAccount(e.GID))
	}
	limits, err := t.accounts(f.dirs, gaining...)
	if err == nil {
		err = within("SetOwner", e.Name, limits, quota.Want{QuotaAmount: schema.FileUsage(e)})
	}
	if err != nil {
		return err
	}
	return t.charge(f.dirs, f.entry, e)
}

// within turns a refusal of the quota rule into the error that says why.
func within(op, subject string, limits []quota.Standing, want quota.Want) error {
	d := quota.Decide(limits, want)
	if d.Allowed {
		return nil
	}
	return errs.Wrap(errs.New(errs.OverQuota, "quota of", d.Whose, d.Why).WithRemedy(d.Remedy), "namespace."+op, subject)
}

// unmetered refuses to make files in the last of dirs past what keeps accounts.
func (t *tx) unmetered(dirs []*hemera.Entry, path string) error {
	set, err := t.realm(dirs)
	if err != nil || set == 0 {
		return err
	}
	return errs.New(errs.Unsupported, "namespace.Load", path, "it would be below a quota node, whose usage a load does not keep").
		WithRemedy("load the tree elsewhere, or set the quota afterwards: it counts what is there")
}
