package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/doors/admin"
	"hemera/errs"
)

func chownCommand(e *env) *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use: "chown <owner>[:<group>] <path>…", Short: "Change owner and group", Args: cobra.MinimumNArgs(2), ValidArgsFunction: completePaths(e),
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
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				return e.done(e.each(ctx, args[1:], func(arg string) error {
					return e.tree(ctx, m, arg, recursive, func(path string) error {
						return m.SetOwner(ctx, hemera.Identity{}, path, uid, gid)
					})
				}))
			})
		},
	}
	recursiveFlag(c, &recursive, "everything below directories too")
	return c
}

// tree calls f for a path and, if recursive, for everything below it.
func (e *env) tree(ctx context.Context, m *admin.Client, arg string, recursive bool, f func(path string) error) error {
	path, err := e.onManager(arg)
	if err != nil || !recursive {
		if err == nil {
			err = f(path)
		}
		return err
	}
	_, err = m.Walk(ctx, admin.WalkRequest{Path: path}, func(found admin.Found) error {
		if found.Err != "" {
			return errs.New(errs.Internal, "walk", found.Path, found.Err)
		}
		return f(found.Path)
	})
	return err
}

// parseOwner reads owner[:group] or :group; -1 stands for what is to be left.
func parseOwner(s string) (uid, gid int64, err error) {
	owner, group, _ := strings.Cut(s, ":")
	if owner == "" && group == "" {
		return 0, 0, usage(errs.New(errs.Invalid, "read owner", s, "want owner, owner:group or :group"))
	}
	if uid, err = parseID(owner, lookupUser); err != nil {
		return 0, 0, err
	}
	gid, err = parseID(group, lookupGroup)
	return uid, gid, err
}
