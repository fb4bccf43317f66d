package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/doors/admin"
)

func nodeAdmitCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "admit <node>", Short: "Let a node in that waits for it", Args: cobra.ExactArgs(1),
		Long: `Admits a node that has joined while auth.admission is admin: until then it has no keys and its
disks are not used. node ls shows who waits, and from which address; node rm turns it away.`,
		Example: `  hemera node ls
  hemera node admit 7`,
		ValidArgsFunction: completeNodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := findNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				if err := m.AdmitNode(ctx, n.ID); err != nil {
					return err
				}
				e.say("node %d at %s is admitted", n.ID, n.Addr)
				return nil
			})
		},
	}
}

func nodeRmCommand(e *env) *cobra.Command {
	var k consent
	var now bool
	c := &cobra.Command{
		Use: "rm <node>", Short: "End the trust in a node", Args: cobra.ExactArgs(1),
		Long: `Removes a node from the cluster: its lease ends and its certificate is refused from then on; it
can only come back with a new join token. Within seconds the other nodes refuse the permissions that
clients had shown to it.

The disks of the node must have been removed before (hemera fs rm). --now is for a node that is lost or
in bad hands: its disks go with it, files that have other copies are made whole again, and the others
are lost. The command says first what will go, and asks; a script gives its consent with --yes.`,
		Example: `  hemera node rm node1.example.org
  hemera node rm 7 --now --dry-run`,
		ValidArgsFunction: completeNodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := findNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				if ok, err := e.agreeNode(ctx, m, k, n, now); !ok {
					return err
				}
				end := m.RemoveNode
				if now {
					end = m.ExpelNode
				}
				if err := end(ctx, n.ID); err != nil {
					return err
				}
				e.say("node %s is forgotten", n.Addr)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&now, "now", false, "its disks go too, with all that is on them")
	k.flags(c)
	return c
}

// agreeNode says what the end of a node's membership means. One that has disks is the manager's to refuse, unless
// they go too.
func (e *env) agreeNode(ctx context.Context, m *admin.Client, k consent, n hemera.NodeInfo, now bool) (bool, error) {
	v, err := m.View(ctx)
	if err != nil {
		return false, err
	}
	var its []hemera.DiskID
	for _, d := range v.Disks {
		if d.Node == n.ID {
			its = append(its, d.ID)
		}
	}
	if len(its) > 0 && !now && !k.dry {
		return true, nil
	}
	stake := []string{fmt.Sprintf("node %s (%s) is refused from then on; it can only come back with a new join token", n.Addr, n.Status)}
	for _, d := range v.Removed {
		if d.Node == n.ID {
			stake = append(stake, fmt.Sprintf("  disk %d was removed from it while files had pieces there: %s", d.ID, d.Path))
		}
	}
	if len(its) > 0 && now {
		sum, err := m.Impact(ctx, slices.Clone(its))
		if err != nil {
			return false, err
		}
		stake = append(append(stake, fmt.Sprintf("its %d disks go with it: it %s", len(its), holds(sum))), stakes(sum)...)
	}
	return e.agree(ctx, k, "node rm", stake)
}
