package recycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// purgeOptions are the flags of purge, as typed.
type purgeOptions struct {
	consent        cli.Consent
	user, older    string // "" is not given
	recursive, all bool
}

// purgeCommand makes `hemera recycle purge`. Unlike restore, a path means all that was removed there, and not only the
// last.
func purgeCommand(e *cli.Env) *cobra.Command {
	var o purgeOptions
	c := &cobra.Command{
		Use: "purge [id|path]…", Short: "Remove entries of recycle bins for good",
		Long: `Removes entries of recycle bins for good: one by its id, or by path everything that was there, with
-r also what was below it, with --all everything. Users purge what they own; admins everybody's,
with -u one owner's. --older limits it to what was removed longer ago.

Bins are bounded by their rules without this command: what is too old or too much goes by itself.
The command says what will go, and asks. A script gives its consent with --yes.`,
		Example: `  hemera recycle purge fxid:0000fe21
  hemera recycle purge -r /exp/scratch --older 7d
  hemera recycle purge --all -u alice --dry-run`,
		RunE: func(c *cobra.Command, args []string) error {
			// Nothing named does not mean everything: an empty variable in a script must not purge a bin.
			if o.all == (len(args) > 0) {
				return cli.Usage(errs.New(errs.Invalid, "hemera.Purge", "", "name entries, or --all, but not both"))
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return purge(ctx, e, m, args, &o) })
		},
	}
	c.Flags().BoolVarP(&o.recursive, "recursive", "r", false, "also what was below the paths")
	c.Flags().BoolVarP(&o.all, "all", "a", false, "everything")
	c.Flags().StringVarP(&o.user, "uid", "u", "", "only what this `user` owns, by name or number")
	c.Flags().StringVar(&o.older, "older", "", "only what was removed longer ago than this `time`, as in 7d")
	o.consent.Flags(c)
	return c
}

// purge finds the entries of the arguments, asks for consent, and purges them. An argument without entries fails the
// command before anything is purged.
func purge(ctx context.Context, e *cli.Env, m *admin.Client, args []string, o *purgeOptions) error {
	q := adminapi.RecycleQuery{All: o.user == ""}
	// A user who is not an admin purges own entries only, whatever -u says.
	if !q.All {
		id, err := cli.ParseID(o.user, cli.LookupUser)
		if err != nil {
			return err
		}
		q.User = uint32(id) // ParseID has checked the range
	}
	// By this machine's clock: a difference of minutes does not matter for times in days.
	var before time.Time // zero: of any age
	if o.older != "" {
		// The same units as in the attribute.
		rule, err := recycle.Parse(o.older)
		if err != nil || rule.Keep == 0 {
			return cli.Usage(errs.New(errs.Invalid, "hemera.ReadTime", o.older, "it is no time").WithRemedy("write it as 7d, 12h or 30m"))
		}
		before = time.Now().Add(-rule.Keep)
	}
	// An entry counts once, also if several arguments name it.
	d := &doomed{ids: map[hemera.FileID]bool{}, before: before, recursive: o.recursive}
	for _, arg := range args {
		if err := d.add(ctx, e, m, arg, q); err != nil {
			return err
		}
	}
	if o.all {
		if err := d.list(ctx, m, q, 0, ""); err != nil {
			return err
		}
	}
	// Only --all can be empty here; arguments have failed before.
	if len(d.ids) == 0 {
		return errs.New(errs.NotFound, "hemera.Purge", "", "nothing of this is in a recycle bin").WithRemedy("hemera recycle ls lists what there is")
	}
	// Entries that come into the bin during the question are not purged.
	stake := fmt.Sprintf("%s, %s will go for good", output.Count(int64(len(d.ids)), "entry"), output.Bytes(d.bytes))
	if ok, err := e.Agree(ctx, o.consent, "hemera.Purge", []string{stake}); !ok {
		return err
	}
	return d.purge(ctx, e, m)
}

// doomed has the entries to purge.
type doomed struct {
	ids       map[hemera.FileID]bool // the entries
	bytes     int64                  // of content
	before    time.Time              // only entries removed earlier; zero for all
	recursive bool                   // also entries below a path
}

// add adds the entries of one argument. It fails with NotFound if there are none.
func (d *doomed) add(ctx context.Context, e *cli.Env, m *admin.Client, arg string, q adminapi.RecycleQuery) error {
	w, err := parse(e, arg)
	if err != nil {
		return err
	}
	q.Below = w.path // "" for an id: the manager has no look-up by id, so all of them are listed
	was := len(d.ids)
	if err := d.list(ctx, m, q, w.id, w.path); err != nil {
		return err
	}
	if len(d.ids) == was {
		return errs.New(errs.NotFound, "hemera.Purge", arg, "nothing of this is in a recycle bin").WithRemedy("hemera recycle ls lists what there is; a tree needs -r")
	}
	return nil
}

// list adds the entries of a query, only the one with the id if there is one, and without -r only those at the path.
func (d *doomed) list(ctx context.Context, m *admin.Client, q adminapi.RecycleQuery, id hemera.FileID, path string) error {
	return m.Recycle.ListRecycled(ctx, hemera.Identity{}, q, func(r adminapi.Recycled) error {
		switch {
		case id != 0 && r.Entry.ID != id, path != "" && path != r.Path && !d.recursive, !d.before.IsZero() && r.Removed.After(d.before), d.ids[r.Entry.ID]:
			return nil
		}
		d.ids[r.Entry.ID] = true
		d.bytes += r.Entry.Size
		return nil
	})
}

// purge purges the entries. A missing entry is no failure: its time was over, or it was restored. Each is a separate
// request. An interrupted command leaves the rest.
func (d *doomed) purge(ctx context.Context, e *cli.Env, m *admin.Client) error {
	done := int64(0)
	for id := range d.ids {
		// In no particular order.
		err := m.Recycle.Purge(ctx, hemera.Identity{}, id)
		if errors.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		done++
	}
	e.Say("purged %s", output.Count(done, "entry"))
	return nil
}
