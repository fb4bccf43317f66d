package storage

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// spaceRmCommand makes `hemera space rm`. No file is lost: the manager refuses while anything refers to the space.
func spaceRmCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	c := &cobra.Command{
		Use: "rm <space>", Short: "Forget a space that nothing refers to", Args: cobra.ExactArgs(1),
		Long: `Removes a space. No disk may belong to it, no file may be stored under it, and no directory may
send new files to it (sys.forced.space): the whole tree is searched for that, which takes about a
second for a million files. The space "default" always stays.`,
		Example:           `  hemera space rm scratch --yes`,
		ValidArgsFunction: complete.Spaces(e),
		RunE: func(c *cobra.Command, args []string) error {
			name := hemera.SpaceName(args[0])
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				spaces, err := m.Cluster.Spaces(ctx)
				if err != nil {
					return err
				}
				// The space is checked before the question: consent to an impossible removal is useless.
				if !slices.ContainsFunc(spaces, func(s hemera.Space) bool { return s.Name == name }) {
					return errs.New(errs.NotFound, "hemera.SpaceRm", args[0], "there is no such space").WithRemedy("hemera space ls shows the spaces there are")
				}
				stake := []string{"the policy of space " + args[0] + " is forgotten; no file goes, and it is refused while anything refers to the space"}
				if ok, err := e.Agree(ctx, k, "hemera.SpaceRm", stake); !ok {
					return err
				}
				if err := m.Cluster.RemoveSpace(ctx, name); err != nil {
					return err
				}
				e.Say("space %s is forgotten", args[0])
				return nil
			})
		},
	}
	k.Flags(c)
	return c
}
