package storage

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// nodeSetCommand makes `hemera node set`. The manager checks keys and values; this command only expands the short forms.
func nodeSetCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "set <node> <key>=<value>", Short: "Change what is wanted of a node", Args: cobra.ExactArgs(2),
		Long: `Sets one property of a node:

  status   on or off: whether its disks are used; off does not repair around them
           (on and off may stand alone)
  zone     the failure domain of its disks, such as a room or rack; - for what the node says;
           a disk that has a zone of its own (fs set) keeps it, and the command says so`,
		Example: `  hemera node set node1.example.org off
  hemera node set 2 zone=hall-b`,
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []cobra.Completion{"on", "off", "zone="}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return complete.Nodes(e)(c, args, word)
		},
		RunE: func(c *cobra.Command, args []string) error {
			// on and off stand for status=on and status=off.
			key, value, ok := strings.Cut(args[1], "=")
			if !ok {
				key, value = "status", args[1]
			}
			if key == "status" && value != "on" && value != "off" {
				return cli.Usage(errs.New(errs.Invalid, "hemera.ReadStatus", value, "want on or off").WithRemedy("write on or off alone, or zone=NAME"))
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := FindNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				if err := m.Cluster.SetNode(ctx, n.ID, key, value); err != nil {
					return err
				}
				e.Say("node %s: %s=%s", n.Addr, key, value)
				if key != "zone" {
					return nil
				}
				v, err := m.Cluster.View(ctx)
				if err != nil {
					return err
				}
				for _, d := range elsewhere(v, n.ID) {
					e.Say("disk %d keeps its own zone, %s: hemera fs set %d zone=- has it follow its node", d.ID, d.Zone, d.ID)
				}
				return nil
			})
		},
	}
}

// elsewhere returns the disks of a node that are in another zone than the node.
func elsewhere(v *hemera.View, id hemera.NodeID) (disks []hemera.Disk) {
	n, _ := v.Node(id)
	for _, d := range v.Disks {
		if d.Node == id && d.Zone != n.Zone {
			disks = append(disks, d)
		}
	}
	return disks
}
