package main

import (
	"context"
	"errors"
	gopath "path"

	"github.com/spf13/cobra"

	"hemera/errs"
	"hemera/platform/xrootd"
)

func mvCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "mv <from> <to>", Short: "Rename a file or a whole tree", Args: cobra.ExactArgs(2), ValidArgsFunction: e.completePaths,
		Long: "Renames a file or a directory. A large tree takes no longer than a file. If <to> is a\ndirectory, the entry goes into it. If <to> is a file, it is replaced.\n" + pathHelp,
		Example: `  hemera mv /exp/run1 /exp/2026/run1
  hemera mv /exp/data.root /archive/`,
		RunE: func(c *cobra.Command, args []string) error {
			from, err := e.remote(args[0])
			if err != nil {
				return err
			}
			to, err := e.remote(args[1])
			if err != nil {
				return err
			}
			if from.Addr() != to.Addr() {
				return &usageError{errs.New(errs.Unsupported, "rename", from.Redacted(), "the target is at another server").
					WithRemedy("copy it with hemera cp, then remove it")}
			}
			return e.files(c, func(ctx context.Context, cl *xrootd.Client) error {
				i, err := cl.Stat(ctx, to)
				if err != nil && !errors.Is(err, errs.NotFound) {
					return err
				}
				if err == nil && i.IsDir() {
					to = to.Join(gopath.Base(from.Path))
				}
				return e.done(cl.Rename(ctx, from, to.Path))
			})
		},
	}
}
