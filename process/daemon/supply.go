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
	"hemera/words/hemera"
)

// supplyTapes adds the tapes of the library to the default pool, if the cluster has a library and no tapes yet, so that a
// trial cluster archives at once.
func (u *Up) supplyTapes(ctx context.Context, group *errgroup.Group) {
	if len(u.Nodes) == 0 || u.Nodes[0].tape == nil {
		return
	}
	// In the background: a cluster without usable tapes is still useful.
	group.Go(func() error {
		err := u.Manager.Panics.Do("daemon.Supply", "", func() error { return supply(ctx, u.Manager.Tape) })
		if err != nil && ctx.Err() == nil {
			u.log.Warn("the tapes of the library were not put to use", "error", err, "remedy", errs.RemedyOf(err))
		}
		return nil
	})
}

// supply adds all tapes that a library reports to the default pool, and makes few files enough for a mount.
func supply(ctx context.Context, admin adminapi.TapeAdmin) error {
	// If a person removed a tape, it must not come back at the next start.
	tapes, err := admin.Tapes(ctx)
	if err != nil || len(tapes) > 0 {
		return err
	}
	vids, err := awaitVIDs(ctx, admin)
	if err != nil {
		return err
	}
	const who = "hemera up" // as listings of the configuration show it
	for _, vid := range vids {
		change := adminapi.TapeChange{Object: "tape", Verb: "add", Name: string(vid), Values: map[string]string{"tapepool": tapeconfig.DefaultName}}
		if err := admin.ChangeTape(ctx, who, change); err != nil {
			return err
		}
	}
	// A trial user should not wait a quarter of an hour for the second file.
	soon := adminapi.TapeChange{Object: "policy", Verb: "set", Name: tapeconfig.DefaultName,
		Values: map[string]string{"archiveMinRequestAge": "2", "retrieveMinRequestAge": "0"}}
	return admin.ChangeTape(ctx, who, soon)
}

// awaitVIDs blocks until a library has reported its cartridges.
func awaitVIDs(ctx context.Context, admin adminapi.TapeAdmin) ([]hemera.VID, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := admin.TapePicture(ctx)
		if err != nil {
			return nil, err
		}
		// Other nodes may get libraries later; a new cluster has this one.
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
