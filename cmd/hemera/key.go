package main

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/admin"
)

func keyCommand(e *env) *cobra.Command {
	var k consent
	var now bool
	rotate := &cobra.Command{
		Use: "rotate", Short: "Make a new key for capabilities", Args: cobra.NoArgs,
		Long: `Makes a new secret, of which every node gets its own key within seconds; it signs after 10 s.
The manager does this by itself every day. What was signed before stays good for its time, an
hour for opens; with --now it is refused once the new key signs: files that are open stay so, but opens
that were granted and not made are asked for again, and writes under way fail at their close. It then
needs an answer at the terminal, or --yes. Node certificates are another matter: hemera node rm.`,
		Example: `  hemera key rotate
  hemera key rotate --now --yes`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				if now || k.dry {
					stake := []string{"a new key signs in 10 s; what was signed before stays good for its time"}
					if now {
						stake = []string{"what was signed so far is refused in 10 s: writes under way fail at their close"}
					}
					if ok, err := e.agree(ctx, k, "key rotate", stake); !ok {
						return err
					}
				}
				if err := m.RotateKeys(ctx, now); err != nil {
					return err
				}
				e.say("a new key is made; it signs in 10 s")
				return nil
			})
		},
	}
	rotate.Flags().BoolVar(&now, "now", false, "end what was signed so far")
	k.flags(rotate)
	return noun("key", "Keys of capabilities", rotate)
}
