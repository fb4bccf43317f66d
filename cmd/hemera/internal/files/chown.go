package files

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// ChownCommand makes `hemera chown`: owner and group. The manager checks who may change an owner. After a failed path it
// continues with the next.
func ChownCommand(e *cli.Env) *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use: "chown <owner>[:<group>] <path>…", Short: "Change owner and group", Args: cobra.MinimumNArgs(2), ValidArgsFunction: complete.Paths(e),
		Long: `Sets the owner, the group or both. Write numbers, or names that this machine knows.
If your machines give one name different numbers, use numbers.`,
		Example: `  hemera chown alice:users /exp/run1
  hemera chown -r 1001 /exp
  hemera chown :100 /exp`,
		RunE: func(c *cobra.Command, args []string) error {
			uid, gid, err := parseOwner(args[0])
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				return e.Done(e.Each(ctx, args[1:], func(arg string) error {
					return tree(ctx, e, m, arg, recursive, func(path string) error {
						return m.Attributes.SetOwner(ctx, hemera.Identity{}, path, uid, gid)
					})
				}))
			})
		},
	}
	cli.RecursiveFlag(c, &recursive, "everything below directories too")
	return c
}

// tree calls f for a path and, if recursive, for everything below it. The manager walks; f makes one request for each
// entry. It stops at the first error. Entries that are made meanwhile may be missed.
func tree(ctx context.Context, e *cli.Env, m *admin.Client, arg string, recursive bool, f func(path string) error) error {
	path, err := e.OnManager(arg)
	// Without -r one request is enough, without a listing.
	if err != nil || !recursive {
		if err == nil {
			err = f(path)
		}
		return err
	}
	_, err = m.Names.Walk(ctx, adminapi.WalkRequest{Path: path}, func(found adminapi.Found) error {
		// A directory that could not be listed: to continue would silently leave a part of the tree unchanged.
		if found.Err != "" {
			return errs.New(errs.Internal, "hemera.Walk", found.Path, found.Err)
		}
		return f(found.Path)
	})
	return err
}

// parseOwner parses owner, owner:group or :group. -1 means no change. It fails with Invalid for a name that this machine
// does not know.
func parseOwner(s string) (uid, gid int64, err error) {
	owner, group, _ := strings.Cut(s, ":") // as in chown(1)
	if owner == "" && group == "" {
		return 0, 0, cli.Usage(errs.New(errs.Invalid, "hemera.ReadOwner", s, "want owner, owner:group or :group"))
	}
	if uid, err = cli.ParseID(owner, cli.LookupUser); err != nil {
		return 0, 0, err
	}
	gid, err = cli.ParseID(group, cli.LookupGroup)
	return uid, gid, err
}
