package main

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/errs"
	"hemera/platform/xrootd"
)

func mkdirCommand(e *env) *cobra.Command {
	var parents bool
	var mode string
	c := &cobra.Command{
		Use: "mkdir <path>…", Short: "Make directories", Args: cobra.MinimumNArgs(1), ValidArgsFunction: e.completePaths,
		Long: "Makes directories. They inherit the sys.* attributes in force above them.\n" + pathHelp,
		Example: `  hemera mkdir -p /exp/2026/run1
  hemera mkdir --mode 0700 /exp/private`,
		RunE: func(c *cobra.Command, args []string) error {
			bits, err := parseMode(mode)
			if err != nil {
				return err
			}
			return e.files(c, func(ctx context.Context, cl *xrootd.Client) error {
				return e.done(e.each(ctx, args, func(arg string) error {
					u, err := e.remote(arg)
					if err != nil {
						return err
					}
					err = cl.Mkdir(ctx, u, bits, parents)
					err = advise(err, errs.Exists, "with -p a directory that exists is no error")
					return advise(err, errs.NotFound, "add -p to make the directories above it too")
				}))
			})
		},
	}
	c.Flags().BoolVarP(&parents, "parents", "p", false, "make missing parents; accept a directory that exists")
	c.Flags().StringVar(&mode, "mode", "0755", "permission bits, octal")
	return c
}
