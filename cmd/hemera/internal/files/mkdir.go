package files

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
)

// MkdirCommand makes `hemera mkdir`: new directories. After a failed path it continues with the next.
func MkdirCommand(e *cli.Env) *cobra.Command {
	var parents bool
	var mode string
	c := &cobra.Command{
		Use: "mkdir <path>…", Short: "Make directories", Args: cobra.MinimumNArgs(1), ValidArgsFunction: complete.Paths(e),
		Long: "Makes directories. They inherit the sys.* attributes in force above them.\n" + cli.PathHelp,
		Example: `  hemera mkdir -p /exp/2026/run1
  hemera mkdir --mode 0700 /exp/private`,
		RunE: func(c *cobra.Command, args []string) error {
			bits, err := parseMode(mode)
			if err != nil {
				return err
			}
			return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error {
				return e.Done(e.Each(ctx, args, func(arg string) error {
					u, err := e.Remote(arg)
					if err != nil {
						return err
					}
					err = cl.Mkdir(ctx, u, bits, parents)
					err = cli.Advise(err, errs.Exists, "with -p a directory that exists is no error") // a remedy for each of the two usual mistakes
					return cli.Advise(err, errs.NotFound, "add -p to make the directories above it too")
				}))
			})
		},
	}
	c.Flags().BoolVarP(&parents, "parents", "p", false, "make missing parents; accept a directory that exists") // as mkdir -p
	c.Flags().StringVar(&mode, "mode", "0755", "permission bits, octal")                                        // a directory's forced mode goes before it
	return c
}
