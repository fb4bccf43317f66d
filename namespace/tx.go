package namespace

import (
	"context"
	"log/slog"
	"time"

	"hemera/namespace/accounts"
	"hemera/namespace/record"
	"hemera/namespace/tables"
	"hemera/tape/catalogue"
	"hemera/words/hemera"
)

// engine runs the transactions on the tree. Its fields do not change after Open.
type engine struct {
	records *record.Store
	numbers *record.Numbers // ids and generations
	clock   func() time.Time
	log     *slog.Logger
	memory  *memory
}

// view runs a reader on one picture of the tree; see record.Store.View.
func (n *engine) view(ctx context.Context, fn func(t tx) error) error {
	return n.records.View(ctx, func(t *record.Txn) error { return fn(n.tx(t)) })
}

// look does what view does, without the wait for what it saw; it returns the newest batch that fn saw anything of.
func (n *engine) look(ctx context.Context, fn func(t tx) error) (uint64, error) {
	return n.records.Look(ctx, func(t *record.Txn) error { return fn(n.tx(t)) })
}

// update runs a change; see record.Store.Update.
func (n *engine) update(ctx context.Context, fn func(t tx) error) error {
	return n.records.Update(ctx, func(t *record.Txn) error { return fn(n.tx(t)) })
}

// tx makes an operation on the tree of a transaction.
func (n *engine) tx(t *record.Txn) tx { return tx{Txn: tables.Txn{Txn: t}, memory: n.memory} }

// tx is one operation on the tree: a transaction, with the rules of names, permissions and commits as methods.
type tx struct {
	tables.Txn
	memory *memory
	work   *changeWork // of changes that may need more than the transaction gives; see changes.run
}

// ledger returns the quota accounts in the same transaction. What it charges is judged with the change, if that is one of
// [changes].
func (t tx) ledger() accounts.Ledger {
	l := accounts.Ledger{Txn: t.Txn}
	if t.work != nil {
		l.Judge = &t.work.judge
	}
	return l
}

// tapes returns the copies on tape and their jobs, in the same transaction.
func (t tx) tapes() catalogue.Txn { return catalogue.Txn{Txn: t.Txn} }

// trim is a directory of versions that may have too many after a change.
type trim struct {
	dir  hemera.FileID
	kept int // how many may stay
}

// changeWork has the state that a change needs beside its transaction, and the work that it leaves.
type changeWork struct {
	listed  map[hemera.FileID][]string // names in directories
	trims   []trim
	judge   accounts.Judge
	settles accounts.Settlement // of the commit of a write
	holding accounts.Holding    // ended when the change is visible or has failed
}
