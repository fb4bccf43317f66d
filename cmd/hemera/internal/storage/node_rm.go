package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/hemera"
)

// nodeRmCommand makes `hemera node rm`. Without --now nothing is lost: the manager refuses a node with disks.
func nodeRmCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	var now bool
	c := &cobra.Command{
		Use: "rm <node>", Short: "End the trust in a node", Args: cobra.ExactArgs(1),
		Long: `Removes a node from the cluster: its lease ends and its certificate is refused from then on; it
can only come back with a new join token. Within seconds the other nodes refuse the permissions that
clients had shown to it.

The disks of the node must have been removed before (hemera fs rm). --now is for a node that is lost or
in bad hands: its disks go with it, files that have other copies are repaired from them, and the others
are lost. The command first prints what will be lost, and asks. A script gives its consent with --yes.`,
		Example: `  hemera node rm node1.example.org
  hemera node rm 7 --now --dry-run`,
		ValidArgsFunction: complete.Nodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := FindNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				if ok, err := agreeNode(ctx, e, m, k, n, now); !ok {
					return err
				}
				// The two requests differ in the fate of the node's disks.
				end := m.Cluster.RemoveNode
				if now {
					end = m.Trust.ExpelNode
				}
				if err := end(ctx, n.ID); err != nil {
					return err
				}
				e.Say("node %s is forgotten", n.Addr)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&now, "now", false, "its disks go too, with all that is on them")
	k.Flags(c)
	return c
}

// agreeNode prints the consequences of the end of a node's membership and asks for consent. If the node still has disks
// and --now is not given, it asks nothing, because the manager will refuse. With --dry-run it prints the consequences of
// a removal and returns false.
func agreeNode(ctx context.Context, e *cli.Env, m *admin.Client, k cli.Consent, n hemera.NodeInfo, now bool) (bool, error) {
	v, err := m.Cluster.View(ctx)
	if err != nil {
		return false, err
	}
	var its []hemera.DiskID
	for _, d := range v.Disks {
		if d.Node == n.ID {
			its = append(its, d.ID)
		}
	}
	if len(its) > 0 && !now && !k.Dry {
		return true, nil
	}
	// The first line is there in every case, also for a node without disks.
	stake := []string{fmt.Sprintf("node %s (%s) is refused from then on; it can only come back with a new join token", n.Addr, n.Status)}
	// Removed disks whose pieces files still count on: the node may be needed to get them back.
	for _, d := range v.Removed {
		if d.Node == n.ID {
			stake = append(stake, fmt.Sprintf("  disk %d was removed from it while files had pieces there: %s", d.ID, d.Path))
		}
	}
	if len(its) > 0 && now {
		// All disks in one question: a file with two pieces on this node is lost, though each disk alone would not
		// lose it.
		sum, err := m.Status.Impact(ctx, slices.Clone(its))
		if err != nil {
			return false, err
		}
		stake = append(append(stake, fmt.Sprintf("its %d disks go with it: it %s", len(its), holds(sum))), stakes(sum)...)
	}
	return e.Agree(ctx, k, "hemera.NodeRm", stake)
}
