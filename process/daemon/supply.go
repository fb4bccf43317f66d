package daemon

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// supplyTapes puts the tapes of the library to use, if the cluster has one and knows no tapes yet: a cluster to try things archives at once.
func (u *Up) supplyTapes(ctx context.Context, group *errgroup.Group) {
	if len(u.Nodes) == 0 || u.Nodes[0].tape == nil {
		return
	}
	// Beside the nodes: a cluster whose tapes cannot be used is still a cluster.
	group.Go(func() error {
		err := u.Manager.Panics.Do("daemon.Supply", "", func() error { return supply(ctx, u.Manager.Tape) })
		if err != nil && ctx.Err() == nil {
			u.log.Warn("the tapes of the library were not put to use", "error", err, "remedy", errs.RemedyOf(err))
		}
		return nil
	})
}

// supply adds all tapes that a library reports to the default pool, and has few files warrant a mount.
func supply(ctx context.Context, admin adminapi.TapeAdmin) error {
	// A person who removed a tape does not want it back at the next start.
	tapes, err := admin.Tapes(ctx)
	if err != nil || len(tapes) > 0 {
		return err
	}
	vids, err := awaitVIDs(ctx, admin)
	if err != nil {
		return err
	}
	const who = "hemera up" // as listings of the configuration show
	for _, vid := range vids {
		change := adminapi.TapeChange{Object: "tape", Verb: "add", Name: vid, Values: map[string]string{"tapepool": tapeconfig.DefaultName}}
		if err := admin.ChangeTape(ctx, who, change); err != nil {
			return err
		}
	}
	// Nobody who tries it wants to wait a quarter of an hour for the second file.
	soon := adminapi.TapeChange{Object: "policy", Verb: "set", Name: tapeconfig.DefaultName,
		Values: map[string]string{"archiveMinRequestAge": "2", "retrieveMinRequestAge": "0"}}
	return admin.ChangeTape(ctx, who, soon)
}

// awaitVIDs waits until a library has reported its cartridges.
func awaitVIDs(ctx context.Context, admin adminapi.TapeAdmin) ([]string, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := admin.TapePicture(ctx)
		if err != nil {
			return nil, err
		}
		// Other nodes may have libraries too, later; a fresh cluster has this one.
		for _, l := range now.Libraries {
			if len(l.VIDs) > 0 {
				return slices.Sorted(maps.Keys(l.VIDs)), nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errs.Wrap(ctx.Err(), "daemon.SupplyTapes", "")
		}
	}
}
