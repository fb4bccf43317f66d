package accounts

import (
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/rules/quota"
	"hemera/words/hemera"
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
	return Ledger{Txn: tables.Txn{Txn: l.Unwaited()}}.standings(dirs, uid, gid)
}

// standings returns all limits that hold for a file of the user and group in the last of dirs: of every project
// above it, and of both at the nearest node.
func (l Ledger) standings(dirs []*hemera.Entry, uid, gid uint32) ([]quota.Standing, error) {
	out, err := l.projects(dirs)
	if err != nil {
		return nil, err
	}
	accounts, err := l.accounts(dirs, schema.UserAccount(uid), schema.GroupAccount(gid))
	return append(out, accounts...), err
}

// projects returns the limits of the directories themselves. Their usage is the totals of the directory, so they hold
// from the moment they are set.
func (l Ledger) projects(dirs []*hemera.Entry) (out []quota.Standing, err error) {
	for i, dir := range dirs {
		if !dir.Quota {
			continue
		}
		s, ok, err := l.standing(quota.Account{Node: dir.ID, Kind: hemera.QuotaProject}, pathTo(dirs, i))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, s)
		}
	}
	return out, nil
}

// accounts returns the limits of users and groups at the nearest node.
func (l Ledger) accounts(dirs []*hemera.Entry, all ...schema.Account) (out []quota.Standing, err error) {
	i, q, err := l.nearest(dirs)
	if err != nil || q == nil {
		return nil, err
	}
	for _, a := range all {
		s, ok, err := l.standing(quota.Account{Node: dirs[i].ID, Kind: a.Kind, ID: a.ID}, pathTo(dirs, i))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, s)
		}
	}
	return out, nil
}

// standing returns the limits of an account or a project, and what is used of them; false where nothing is limited. Until
// the usage of users and groups is exact their limits do not hold: a count that is not finished would refuse what is allowed.
func (l Ledger) standing(of quota.Account, path string) (quota.Standing, bool, error) {
	s := quota.Standing{Account: of, Path: path}
	q, err := l.node(of.Node)
	if err != nil {
		return s, false, err
	}
	if of.Kind == hemera.QuotaProject {
		if s.Limits = q.Project; s.Limits == (hemera.QuotaAmount{}) { // its limits are of users and groups only
			return s, false, nil
		}
		totals, err := l.Directory(of.Node)
		if err != nil {
			return s, false, err
		}
		s.Used = schema.TreeUsage(totals.Tree)
		return s, true, nil
	}
	// Without any limit of users and groups no account has to be read.
	if q.State != schema.NodeExact || q.Limits == 0 {
		return s, false, nil
	}
	a := schema.Account{Kind: of.Kind, ID: of.ID}
	if s.Limits, err = l.limits(of.Node, a); err != nil || s.Limits == (hemera.QuotaAmount{}) {
		return s, false, err
	}
	s.Used, err = l.amount(schema.AccountKey(schema.TableAccount, q.Set, a))
	return s, true, err
}

// limits returns those of the account at the node, or the default ones if the account has none of its own.
func (l Ledger) limits(node hemera.FileID, a schema.Account) (hemera.QuotaAmount, error) {
	own, err := l.amount(schema.AccountKey(schema.TableLimit, uint64(node), a))
	if err != nil || own != (hemera.QuotaAmount{}) {
		return own, err
	}
	return l.amount(schema.AccountKey(schema.TableLimit, uint64(node), schema.Account{Kind: a.Kind, ID: hemera.QuotaDefault}))
}

// pathTo returns the path of the directory with the index.
func pathTo(dirs []*hemera.Entry, last int) string {
	names := "" // the root has no name; alone it is "/"
	for _, dir := range dirs[1 : last+1] {
		names += "/" + dir.Name
	}
	return max(names, "/")
}
