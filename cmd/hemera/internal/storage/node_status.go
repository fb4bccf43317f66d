package storage

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
)

// nodeStatusCommand makes `hemera node status`: the record of node ls, one key on each line.
// It makes two requests after the one that finds the node, so the parts may differ by milliseconds.
func nodeStatusCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "status <node>", Short: "Everything about one node, with each network interface", Args: cobra.ExactArgs(1),
		Example: `  hemera node status node1.example.org
  hemera node status 2 -m | tr ' ' '\n' | grep stat.net.`,
		ValidArgsFunction: complete.Nodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := FindNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				v, jobs, err := viewAndJobs(ctx, disksOf(m))
				if err != nil {
					return err
				}
				r := nodeRecord(e, v, n, jobs)
				return e.Printer().One(cli.ColumnsOf(r), r)
			})
		},
	}
}
