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

// fsSetCommand makes `hemera fs set`, which changes the configuration of a disk. It returns when the manager has recorded
// the change; a drain then runs in the background at the manager.
func fsSetCommand(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "set <id> <key>=<value>", Short: "Change what is wanted of a disk", Args: cobra.ExactArgs(2),
		Long: `Sets one property of a disk:

  configstatus   rw      use it fully
                 ro      read only
                 drain   read only, and move every piece to other disks
                 off     do not use it at all
                 The system itself sets empty: a drained disk with nothing left on it.
  space          the space it belongs to
  errors         0       forget the errors counted so far, once they were looked into
  zone           its failure domain, such as a room or rack; - for its node's

A configstatus may be given without its key.`,
		Example: `  hemera fs set 4 drain             empty disk 4; then watch hemera fs status 4 --watch
  hemera fs set 4 configstatus=rw   stop that, and use the disk again
  hemera fs set 4 zone=hall-b
  hemera fs set 4 errors=0          its warning ends`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := ParseDisk(args[0])
			if err != nil {
				return err
			}
			key, value, err := parseDiskProperty(args[1])
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if err := m.Cluster.SetDisk(ctx, id, key, value); err != nil {
					return err
				}
				e.Say("disk %d: %s=%s", id, key, value)
				return nil
			})
		},
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return complete.Disks(e)(c, args, word)
		case 1:
			// empty is left out, because users cannot set it.
			return []cobra.Completion{"rw", "ro", "drain", "off", "configstatus=", "space=", "zone=", "errors=0"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c
}

// parseDiskProperty reads key=value, or a configstatus alone. It refuses "empty", which only the manager sets, on a
// drained disk. The manager checks all other keys and values, so that a new key needs no new client.
func parseDiskProperty(s string) (key, value string, err error) {
	key, value, ok := strings.Cut(s, "=")
	if !ok {
		key, value = "configstatus", s
	}
	if key != "configstatus" {
		return key, value, nil
	}
	switch hemera.DiskConfig(value) {
	case hemera.ConfigRW, hemera.ConfigRO, hemera.ConfigDrain, hemera.ConfigOff:
		return key, value, nil
	}
	return "", "", cli.Usage(errs.New(errs.Invalid, "hemera.ReadConfigstatus", value, "there is no such status").
		WithRemedy("it is one of rw, ro, drain, off"))
}
