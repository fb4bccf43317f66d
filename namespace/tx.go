package namespace

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"hemera/namespace/accounts"
	"hemera/namespace/record"
	"hemera/namespace/tables"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// base is what the parts of a namespace share. Its fields but hold do not change after Open; what they point to guards itself.
type base struct {
	records *record.Store
	numbers *record.Numbers // ids and generations
	clock   func() time.Time
	log     *slog.Logger

	hold     atomic.Int64 // as Options.Hold, in nanoseconds
	dueTimes dueTimes     // hints about held pieces
	ended    endedWrites  // what is known of writes that are over
	counter  *accounts.Counter
	tapes    *catalogue.Catalogue

	// boundaries are those of restores and rebuilds; ForgetLost empties the list, which is not changed in place.
	boundaries atomic.Pointer[[]Boundary]

	spaceRules atomic.Pointer[func(space string) string] // see Bins.UseSpaceRules; nil: spaces have none
	claims     atomic.Pointer[claimsInUse]               // see QuotaAdmin.UseClaims; nil: no write under way claims anything
}

// claimsInUse is how changes and writes under way count each other.
type claimsInUse struct {
	claims accounts.Claims
	hold   accounts.Hold
}

// view runs a reader on one picture of the tree; see record.Store.View.
func (n *base) view(ctx context.Context, fn func(t tx) error) error {
	return n.records.View(ctx, func(t *record.Txn) error { return fn(n.tx(t)) })
}

// look is view without the wait for what it saw; it returns the newest batch that fn saw anything of.
func (n *base) look(ctx context.Context, fn func(t tx) error) (uint64, error) {
	return n.records.Look(ctx, func(t *record.Txn) error { return fn(n.tx(t)) })
}

// update runs a change; see record.Store.Update.
func (n *base) update(ctx context.Context, fn func(t tx) error) error {
	return n.records.Update(ctx, func(t *record.Txn) error { return fn(n.tx(t)) })
}

// tx makes an operation on the tree of a transaction.
func (n *base) tx(t *record.Txn) tx { return tx{Txn: tables.Txn{Txn: t}, base: n} }

// warm brings what a change will look at into the cache, so that the leader does not read the disk
// while all other changes wait for it. Errors are left to the change, which meets them again.
func (n *base) warm(ctx context.Context, who hemera.Identity, paths ...string) error {
	for _, path := range paths {
		_, _ = n.look(ctx, func(t tx) error {
			_, err := t.walk("warm", who, path)
			return err
		})
		if err := ctx.Err(); err != nil {
			return errs.Wrap(err, "namespace.Lookup", path)
		}
	}
	return nil
}

// tx is one operation on the tree: a transaction, with the rules of names, permissions and commits as methods.
type tx struct {
	tables.Txn
	base *base
	work *changeWork // of changes that may need more than the transaction gives; see updateMaking
}

// ledger is the quota accounts in the same transaction. What it charges is judged with the change, if that is one of
// updateMaking.
func (t tx) ledger() accounts.Ledger {
	l := accounts.Ledger{Txn: t.Txn}
	if t.work != nil {
		l.Judge = &t.work.judge
	}
	return l
}

// pieces is the index of pieces in the same transaction.
func (t tx) pieces() pieceTx { return pieceTx(t) }

// bins is the recycle bins in the same transaction.
func (t tx) bins() binTx { return binTx(t) }

// tapes is the copies on tape and their jobs, in the same transaction.
func (t tx) tapes() catalogue.Txn { return catalogue.Txn{Txn: t.Txn} }

// writes is the writes under way, and those that ended, in the same transaction.
func (t tx) writes() writeTx { return writeTx(t) }

// refuse makes the error of an operation that is not possible.
func refuse(kind errs.Kind, op, subject, format string, args ...any) *errs.Error {
	return errs.New(kind, "namespace."+op, subject, fmt.Sprintf(format, args...))
}

// absent makes the error about an id that no entry has.
func absent(op string, id hemera.FileID) error {
	return refuse(errs.NotFound, op, "fid:"+id.String(), "no entry has this id")
}
