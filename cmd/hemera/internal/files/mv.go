package files

import (
	"context"
	"errors"
	gopath "path"

	"github.com/spf13/cobra"

	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
)

// MvCommand makes `hemera mv`: rename. A rename is atomic at the manager. It fails with Unsupported between two servers.
func MvCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "mv <from> <to>", Short: "Rename a file or a whole tree", Args: cobra.ExactArgs(2), ValidArgsFunction: complete.Paths(e),
		Long: "Renames a file or a directory. A large tree takes no longer than a file. If <to> is a\ndirectory, the entry goes into it. If <to> is a file, it is replaced.\n\nA path has at most 4096 bytes. A move can make paths in a tree longer: find shows them, and they can be\nused again after a directory above them was moved up.\n" + cli.PathHelp,
		Example: `  hemera mv /exp/run1 /exp/2026/run1
  hemera mv /exp/data.root /archive/`,
		RunE: func(c *cobra.Command, args []string) error {
			from, err := e.Remote(args[0])
			if err != nil {
				return err
			}
			to, err := e.Remote(args[1])
			if err != nil {
				return err
			}
			if from.Addr() != to.Addr() {
				return cli.Usage(errs.New(errs.Unsupported, "hemera.Rename", from.Redacted(), "the target is at another server").
					WithRemedy("copy it with hemera cp, then remove it"))
			}
			return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error {
				// mv into a directory, like the system's mv. Another client may remove it meanwhile; then the rename
				// fails.
				i, err := cl.Stat(ctx, to)
				if err != nil && !errors.Is(err, errs.NotFound) {
					return err
				}
				if err == nil && i.IsDir() {
					to = to.Join(gopath.Base(from.Path)) // keeps its own name
				}
				return e.Done(cl.Rename(ctx, from, to.Path))
			})
		},
	}
}
