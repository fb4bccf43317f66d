package recycle

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// restoreCommand makes `hemera recycle restore`. It needs no consent, because it replaces nothing, and a removal can undo
// it.
func restoreCommand(e *cli.Env) *cobra.Command {
	var o restoreOptions
	c := &cobra.Command{
		Use: "restore <id|path>…", Short: "Bring removed files and trees back", Args: cobra.MinimumNArgs(1),
		Long: `Restores what hemera recycle ls shows: one entry by its id, or by path what was removed there last.
With -r it restores everything that was at and below a path: directories with their modes, owners
and attributes, and of each file what was removed last. No data is copied.

A name that is taken is not replaced: rename what is there, or restore elsewhere with --to. With -r
names that are taken are left as they are, and the command goes on.`,
		Example: `  hemera recycle restore /exp/run1/data.root
  hemera recycle restore fxid:0000fe21 --to /exp/run1/data.old
  hemera recycle restore -r /exp/run1
  hemera recycle restore -r /exp/run1 --to /exp/rescued`,
		RunE: func(c *cobra.Command, args []string) error {
			// Two entries cannot have one name.
			if o.to != "" {
				if len(args) > 1 {
					return cli.Usage(errs.New(errs.Invalid, "hemera.Restore", o.to, "--to is for one argument"))
				}
				// Bins belong to one manager, so nothing is restored to another.
				to, err := e.OnManager(o.to)
				if err != nil {
					return err
				}
				o.to = to
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				return e.Each(ctx, args, func(arg string) error { return restore(ctx, e, m, arg, o) })
			})
		},
	}
	c.ValidArgsFunction = complete.Recycled(e)
	c.Flags().StringVar(&o.to, "to", "", "the `path` to restore to, instead of where it was")
	_ = c.RegisterFlagCompletionFunc("to", complete.Paths(e))
	c.Flags().BoolVarP(&o.recursive, "recursive", "r", false, "everything that was at and below the path")
	c.Flags().BoolVarP(&o.parents, "parents", "p", false, "make missing directories on the way; implied by -r")
	return c
}

// restoreOptions are the flags of restore.
type restoreOptions struct {
	to                 string // "" for the former path
	recursive, parents bool
}

// restore restores the entry of one argument. By path it takes two steps. If the entry is restored by another user in
// between, the second fails with NotFound.
func restore(ctx context.Context, e *cli.Env, m *admin.Client, arg string, o restoreOptions) error {
	w, err := parse(e, arg)
	if err != nil {
		return err
	}
	if w.id == 0 {
		found, err := newest(ctx, m, w.path, o.recursive)
		if err != nil {
			return err
		}
		// Also a single file: -r of a file restores just that.
		if o.recursive {
			return restoreTree(ctx, e, m, w.path, found, o.to)
		}
		w.id = found[w.path].Entry.ID
	}
	// The manager knows the former path, and returns the new one.
	path, err := m.Recycle.Restore(ctx, hemera.Identity{}, adminapi.RestoreRequest{ID: w.id, To: o.to, Parents: o.parents})
	if err != nil {
		return err
	}
	e.Say("restored %s", path)
	return nil
}

// restoreTree restores entries in the order of their paths, so that directories precede their entries. Missing
// directories that were not removed, or were purged, are made. After a file that cannot be restored it continues; the
// command fails with the last error.
func restoreTree(ctx context.Context, e *cli.Env, m *admin.Client, top string, found map[string]adminapi.Recycled, to string) error {
	var failed error // the last
	done := int64(0) // entries
	err := e.Each(ctx, slices.Sorted(maps.Keys(found)), func(path string) error {
		// Parents get the usual mode, because the former one is unknown.
		r := adminapi.RestoreRequest{ID: found[path].Entry.ID, Parents: true}
		// The tree keeps its shape under its new name.
		if to != "" {
			r.To = to + strings.TrimPrefix(path, top)
		}
		_, err := m.Recycle.Restore(ctx, hemera.Identity{}, r)
		switch {
		case err == nil:
			done++
		case found[path].Entry.IsDir() && errors.Is(err, errs.Exists):
			return nil // it was made again, or is what the tree is restored to
		default:
			failed = err
		}
		return err
	})
	if done > 0 && failed == nil {
		e.Say("restored %s at and below %s", output.Count(done, "entry"), firstSet(to, top))
	}
	return err
}

// firstSet returns a unless it is empty; then it returns b.
func firstSet(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
