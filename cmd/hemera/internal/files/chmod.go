package files

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
)

// ChmodCommand makes `hemera chmod`: permission bits. After a failed path it continues with the next. Only the owner of
// an entry and admins may change its bits.
func ChmodCommand(e *cli.Env) *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use: "chmod <mode> <path>…", Short: "Change permission bits", Args: cobra.MinimumNArgs(2), ValidArgsFunction: complete.Paths(e),
		Long: "Sets permission bits. Write them in octal or as changes, as for chmod(1).\n" + cli.PathHelp,
		Example: `  hemera chmod 0750 /exp/run1
  hemera chmod -r u+rwX,go-w /exp`,
		RunE: func(c *cobra.Command, args []string) error {
			mode, err := parseModeChange(args[0]) // before any request
			if err != nil {
				return err
			}
			return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error {
				return e.Done(e.Each(ctx, args[1:], func(arg string) error {
					u, err := e.Remote(arg)
					if err != nil {
						return err
					}
					return chmod(ctx, cl, u, mode, recursive) // relative changes differ for each entry
				}))
			})
		},
	}
	cli.RecursiveFlag(c, &recursive, "everything below directories too")
	return c
}

// chmod changes an entry and, if recursive, everything below it. Children come first, because the directory may become
// unreadable. It stops at the first error of a tree. A change such as u+w is not atomic: another client may change the
// bits between the two requests.
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
	// A server that sends no owner sends no bits either. A mode is absolute if it gives the same result for no bits and
	// for all.
	if i.Owner == "" && mode(0, false) != mode(0o777, false) {
		return errs.New(errs.Unsupported, "hemera.ChangeMode", u.Redacted(), "the server does not tell the present one").WithRemedy("give the mode in octal")
	}
	return cl.Chmod(ctx, u, mode(i.Mode, i.IsDir()))
}
