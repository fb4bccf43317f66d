package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
)

// KeyCommand makes `hemera key`: the keys that sign capabilities. No command shows a key: keys never leave the manager's
// records, except as keys of nodes that are derived from them.
func KeyCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	var now bool
	rotate := &cobra.Command{
		Use: "rotate", Short: "Make a new key for capabilities", Args: cobra.NoArgs,
		Long: `Makes a new secret. Every node gets a key derived from it within seconds, and it signs after 10 s.
The manager does this every day. What was signed before stays valid for its time, an hour for
opens. With --now, all of that is refused once the new key signs: open files stay open, clients on their way
to a node ask the manager again, and writes under way fail at their close. The command then asks. A script
gives its consent with --yes. To refuse the certificate of a node, use hemera node rm.`,
		Example: `  hemera key rotate
  hemera key rotate --now --yes`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				// Without --now nothing is lost, because the old key stays valid for its signatures. So there is no
				// question.
				if now || k.Dry {
					stake := []string{"a new key signs in 10 s; what was signed before stays good for its time"}
					if now {
						stake = []string{"what was signed so far is refused in 10 s: writes under way fail at their close"}
					}
					if ok, err := e.Agree(ctx, k, "hemera.KeyRotate", stake); !ok {
						return err
					}
				}
				if err := m.Trust.RotateKeys(ctx, now); err != nil {
					return err
				}
				// All nodes have it before it signs, so every node can verify its signatures.
				e.Say("a new key is made; it signs in 10 s")
				return nil
			})
		},
	}
	rotate.Flags().BoolVar(&now, "now", false, "refuse what was signed so far") // writes under way are lost, so it needs consent
	k.Flags(rotate)
	c := cli.Noun("key", "Keys of capabilities", rotate)
	c.Long = `A capability is the permission to open one file at the nodes that it names. The manager signs it with a secret key,
and makes a new key every day.`
	c.Example = `  hemera key rotate           make a new one now
  hemera key rotate --now     and refuse what the old ones signed`
	return c
}
