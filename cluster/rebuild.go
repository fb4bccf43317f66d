package cluster

import (
	"context"
	"time"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Prepared makes an empty store that of a cluster which is to be rebuilt. Ids of new nodes and disks leave out what
// those of before may have had. It must run before Open.
func Prepared(ctx context.Context, store kv.Reader, w kv.Writer, now time.Time) error {
	j := newJournal(store, w, nil, nil)
	err := j.update(ctx, func(ch *change) error {
		ch.put(nextRecord{Node: 1 + idsLeftOut, Disk: 1 + idsLeftOut})
		ch.put(rebuildRecord{now})
		return nil
	}, nil)
	return errs.Wrap(err, "cluster.Prepared", "")
}
