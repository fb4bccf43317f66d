package storage

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
)

// nodeAdmitCommand makes `hemera node admit`, for clusters with auth.admission=admin. It fails with Invalid for a node
// that is not waiting for admission. An admitted node registers by itself within seconds.
func nodeAdmitCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "admit <node>", Short: "Let in a node that waits for admission", Args: cobra.ExactArgs(1),
		Long: `Admits a node that has joined while auth.admission is admin. Until then it has no keys and its
disks are not used. node ls shows the nodes that wait and their addresses; node rm turns one away.`,
		Example: `  hemera node ls
  hemera node admit 7`,
		ValidArgsFunction: complete.Nodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := FindNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				if err := m.Trust.AdmitNode(ctx, n.ID); err != nil {
					return err
				}
				e.Say("node %d at %s is admitted", n.ID, n.Addr)
				return nil
			})
		},
	}
}
