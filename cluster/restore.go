package cluster

import (
	"context"
	"strings"
	"time"

	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// idsLeftOut is the number of ids of nodes, and of disks, that a restore leaves out: more than a cluster gives out
// between two backups. Nodes that joined after the backup still have their certificates.
const idsLeftOut = 1000

// Restorable reports whether a record of a backup is to be restored. Join tokens are not: one that
// was for a single node may have been used since.
func Restorable(key []byte) bool { return !strings.HasPrefix(string(key), Prefix+"token/") }

// Restored makes a cluster that can go on of the restorable records of a backup, which are in the
// store: new ids begin beyond those given out since the backup, new leases beyond all there were. It
// must run before Open.
func Restored(ctx context.Context, store kv.Reader, w kv.Writer, now time.Time) error {
	j := newJournal(store, w, nil, nil)
	if err := j.tables.load(ctx, store); err != nil {
		return err
	}
	err := j.update(ctx, func(ch *change) error {
		ch.put(newHistory()) // marks of the lost store count no more
		ch.put(nextRecord{Node: j.tables.next.Node + idsLeftOut, Disk: j.tables.next.Disk + idsLeftOut})
		for _, n := range j.tables.nodes.all {
			rec := n.nodeRecord
			// Epochs count registrations, one at a time, so the seconds since 1970 are beyond all that were given out.
			rec.Epoch = max(rec.Epoch, hemera.Epoch(now.Unix()))
			ch.put(rec)
		}
		return nil
	}, nil)
	return errs.Wrap(err, "cluster.Restored", "")
}
