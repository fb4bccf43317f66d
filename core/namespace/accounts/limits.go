package accounts

import (
	"hemera"
	"hemera/core/namespace/schema"
	"hemera/core/namespace/tables"
	"hemera/errs"
	"hemera/rules/quota"
)

// A limit is the quota of a user, a group or a project at a node, in files, bytes and physical bytes. Projects of
// all directories above a file hold at the same time; of users and groups only the limits of the nearest node. The
// decision itself is package quota; here is found what it decides on.

// Standing returns the limits that hold for a file of the user and group in the last of dirs, with what is used of
// them; nil where no directory has limits. What it reads may not be durable yet, and no answer waits for it: a limit
// is not a promise.
func (l Ledger) Standing(dirs []*hemera.Entry, uid, gid uint32) ([]quota.Standing, error) {
	if !Limited(dirs) {
		return nil, nil
	}
	return Ledger{tables.Txn{Txn: l.Unwaited()}}.standings(dirs, uid, gid)
}

// CheckCommit refuses a content that is larger than its open promised and would exceed a limit. release, if not nil,
// is called where limits may hold: it ends the write's claim, as the content counts as usage from now on, and returns
// the standings with the claims of other writes under way. How many files there may be was decided at the open.
func (l Ledger) CheckCommit(dirs []*hemera.Entry, before, after *hemera.Entry, promised int64, release func([]quota.Standing) []quota.Standing) error {
	if release == nil || !Limited(dirs) {
		return nil
	}
	var limits []quota.Standing
	if after.Size > promised {
		var err error
		if limits, err = l.standings(dirs, after.UID, after.GID); err != nil {
			return err
		}
	}
	want := quota.Want{QuotaAmount: schema.FileUsage(after)} // in addition to what is used
	if before != nil {
		want.QuotaAmount = want.Add(schema.FileUsage(before).Negate())
	}
	want.Files = 0 // the number of files was checked at the open, and is not asked again
	return within("Commit", after.Name, release(limits), want)
}

// standings returns all limits that hold for a file of the user and group in the last of dirs: of every project
// above it, and of both at the nearest node.
func (l Ledger) standings(dirs []*hemera.Entry, uid, gid uint32) ([]quota.Standing, error) {
	out, err := l.projects(dirs, 0)
	if err != nil {
		return nil, err
	}
	accounts, err := l.accounts(dirs, schema.UserAccount(uid), schema.GroupAccount(gid))
	return append(out, accounts...), err
}

// projects returns the limits of the directories themselves, beginning with the index. Their usage is the totals
// of the directory, so they hold from the moment they are set.
func (l Ledger) projects(dirs []*hemera.Entry, from int) (out []quota.Standing, err error) {
	for i := from; i < len(dirs); i++ {
		if !dirs[i].Quota {
			continue
		}
		q, err := l.node(dirs[i].ID)
		if err != nil {
			return nil, err
		}
		if q.Project == (hemera.QuotaAmount{}) { // its limits are of users and groups only
			continue
		}
		s, err := l.Directory(dirs[i].ID)
		if err != nil {
			return nil, err
		}
		out = append(out, quota.Standing{Account: quota.Account{Node: dirs[i].ID, Kind: hemera.QuotaProject}, Path: pathTo(dirs, i),
			Limits: q.Project, Used: schema.TreeUsage(s.Tree)})
	}
	return out, nil
}

// accounts returns the limits of users and groups at the nearest node. Until its usage is exact they do not hold:
// a count that is not finished would refuse what is allowed.
func (l Ledger) accounts(dirs []*hemera.Entry, all ...schema.Account) (out []quota.Standing, err error) {
	i, q, err := l.nearest(dirs)
	// Without any limit of users and groups no account has to be read.
	if err != nil || q == nil || q.State != schema.NodeExact || q.Limits == 0 {
		return nil, err
	}
	for _, a := range all {
		limits, err := l.limits(dirs[i].ID, a)
		if err != nil {
			return nil, err
		}
		if limits == (hemera.QuotaAmount{}) {
			continue
		}
		used, err := l.amount(schema.AccountKey(schema.TableAccount, q.Set, a))
		if err != nil {
			return nil, err
		}
		out = append(out, quota.Standing{Account: quota.Account{Node: dirs[i].ID, Kind: a.Kind, ID: a.ID}, Path: pathTo(dirs, i), Limits: limits, Used: used})
	}
	return out, nil
}

// limits returns those of the account at the node, or the default ones if the account has none of its own.
func (l Ledger) limits(node hemera.FileID, a schema.Account) (hemera.QuotaAmount, error) {
	own, err := l.amount(schema.AccountKey(schema.TableLimit, uint64(node), a))
	if err != nil || own != (hemera.QuotaAmount{}) {
		return own, err
	}
	return l.amount(schema.AccountKey(schema.TableLimit, uint64(node), schema.Account{Kind: a.Kind, ID: hemera.QuotaDefault}))
}

// pathTo is the path of the directory with the index.
func pathTo(dirs []*hemera.Entry, last int) string {
	names := "" // the root has no name; alone it is "/"
	for _, dir := range dirs[1 : last+1] {
		names += "/" + dir.Name
	}
	return max(names, "/")
}

// within turns a refusal of the quota rule into the error that says whose limit it is, and what can be done:
// OverQuota.
func within(op, subject string, limits []quota.Standing, want quota.Want) error {
	d := quota.Decide(limits, want)
	if d.Allowed {
		return nil
	}
	return errs.Wrap(errs.New(errs.OverQuota, "quota.Decide", "", "the quota of "+d.Whose+": "+d.Why).WithRemedy(d.Remedy), "namespace."+op, subject)
}
