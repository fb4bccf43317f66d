package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"hemera/errs"
	"hemera/platform/xrootd"
)

func chmodCommand(e *env) *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use: "chmod <mode> <path>…", Short: "Change permission bits", Args: cobra.MinimumNArgs(2), ValidArgsFunction: e.completePaths,
		Long: "Sets permission bits. Write them in octal or as changes, as for chmod(1).\n" + pathHelp,
		Example: `  hemera chmod 0750 /exp/run1
  hemera chmod -r u+rwX,go-w /exp`,
		RunE: func(c *cobra.Command, args []string) error {
			mode, err := parseModeChange(args[0])
			if err != nil {
				return err
			}
			return e.files(c, func(ctx context.Context, cl *xrootd.Client) error {
				return e.done(e.each(ctx, args[1:], func(arg string) error {
					u, err := e.remote(arg)
					if err != nil {
						return err
					}
					return chmod(ctx, cl, u, mode, recursive)
				}))
			})
		},
	}
	recursiveFlag(c, &recursive, "everything below directories too")
	return c
}

// chmod changes children before their directory, which may become unreadable.
func chmod(ctx context.Context, cl *xrootd.Client, u xrootd.URL, mode modeChange, recursive bool) error {
	i, err := cl.Stat(ctx, u)
	if err != nil {
		return err
	}
	if recursive && i.IsDir() {
		err = cl.List(ctx, u, func(i xrootd.Info) error { return chmod(ctx, cl, u.Join(i.Name), mode, i.IsDir()) })
		if err != nil {
			return err
		}
	}
	if i.Owner == "" && mode(0, false) != mode(0o777, false) {
		return errs.New(errs.Unsupported, "change mode", u.Redacted(), "the server does not tell the present one").WithRemedy("give the mode in octal")
	}
	return cl.Chmod(ctx, u, mode(i.Mode, i.IsDir()))
}

func parseMode(s string) (uint32, error) {
	mode, err := strconv.ParseUint(s, 8, 32)
	if err != nil || mode > 0o7777 {
		return 0, &usageError{errs.New(errs.Invalid, "read mode", s, "want octal permission bits").WithRemedy("for example 0755")}
	}
	return uint32(mode), nil
}
