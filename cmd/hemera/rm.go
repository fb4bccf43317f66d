package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"hemera/client"
	"hemera/errs"
)

func rmCommand(e *env) *cobra.Command {
	var recursive, force bool
	c := &cobra.Command{
		Use: "rm <path>…", Short: "Remove files, and with -r directories", Args: cobra.MinimumNArgs(1), ValidArgsFunction: e.completePaths,
		Long: "Removes files, at once and for good. Directories need -r, which removes all that is in them.\n" + pathHelp,
		Example: `  hemera rm /exp/old.root
  hemera rm -r /exp/run1`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.files(c, func(ctx context.Context, cl *client.Client) error {
				return e.done(e.each(ctx, args, func(arg string) error {
					u, err := e.remote(arg)
					if err != nil {
						return err
					}
					err = remove(ctx, cl, u, recursive)
					if force && errors.Is(err, errs.NotFound) {
						return nil
					}
					return err
				}))
			})
		},
	}
	recursiveFlag(c, &recursive, "directories too, with all that is in them")
	c.Flags().BoolVarP(&force, "force", "f", false, "what is not there is no error")
	return c
}

// remove removes a file or, if recursive, a tree from its leaves.
func remove(ctx context.Context, cl *client.Client, u client.URL, recursive bool) error {
	i, err := cl.Stat(ctx, u)
	if err != nil {
		return err
	}
	if !i.IsDir() {
		return cl.Remove(ctx, u)
	}
	if !recursive {
		return errs.New(errs.IsDirectory, "remove", u.Redacted(), "it is a directory").WithRemedy("add -r to remove it with all that is in it")
	}
	if u.Path == "/" {
		return errs.New(errs.Invalid, "remove", u.Redacted(), "the root stays").WithRemedy("name the directories to remove")
	}
	return removeTree(ctx, cl, u)
}

func removeTree(ctx context.Context, cl *client.Client, dir client.URL) error {
	err := cl.List(ctx, dir, func(i client.Info) error {
		if i.IsDir() {
			return removeTree(ctx, cl, dir.Join(i.Name))
		}
		return cl.Remove(ctx, dir.Join(i.Name))
	})
	if err != nil {
		return err
	}
	return cl.Rmdir(ctx, dir)
}
