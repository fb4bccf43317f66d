package node

import (
	"context"
	"errors"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// announce tells the manager which writes are under way here, as one that was started since their opens does not know of them: at
// once those that were there at the registration, and then those whose clients come late, by a grant that is older than the lease. promised
// is what the registration said of their number. It returns when the lease ends, or at once if the manager is an earlier version.
func (n *Node) announce(ctx context.Context, epoch hemera.Epoch, promised int) error {
	if n.o.Writes == nil {
		return nil
	}
	writes := n.pending.Unannounced(epoch)
	// Those that were promised may have ended since. The manager hears that there are no more.
	for said := promised == 0; ; said = true {
		for len(writes) > 0 || !said {
			page := writes[:min(len(writes), hemera.AnnouncedMax)]
			writes = writes[len(page):]
			err := n.announcePage(ctx, hemera.Announcement{Node: n.ID(), Epoch: epoch, Writes: page, More: len(writes) > 0})
			switch {
			case errors.Is(err, errs.Unsupported):
				return nil
			case errors.Is(err, errs.Fenced):
				return errs.Wrap(err, "node.Announce", n.address())
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				// These writes go on without their locks, as they would if nothing was announced.
				n.o.Log.Warn("writes under way were not announced", "writes", len(page), "error", err)
			}
			said = true
		}
		select {
		case <-n.pending.LateBegin():
			writes = n.pending.Unannounced(epoch)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// announcePage makes one call, again until the manager answers or ctx ends.
func (n *Node) announcePage(ctx context.Context, a hemera.Announcement) error {
	for pause := rejoinMin; ; pause = min(2*pause, rejoinMax) {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := n.o.Writes.Announce(call, a)
		cancel()
		if err == nil || !errs.Undecided(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
