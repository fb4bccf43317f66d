package storage

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// spaceStatusCommand makes `hemera space status`. It fails with NotFound if the space does not exist.
func spaceStatusCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "status <space>", Short: "Everything about one space", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Spaces(e),
		Long: `Shows the policy of a space, the room on its disks, and how many of them can be written.`,
		Example: `  hemera space status default
  hemera space status default -j | jq .result[0].cfg`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				v, jobs, err := viewAndJobs(ctx, disksOf(m))
				if err != nil {
					return err
				}
				s, ok := v.Space(hemera.SpaceName(args[0]))
				if !ok {
					return errs.New(errs.NotFound, "hemera.SpaceStatus", args[0], "there is no such space").
						WithRemedy("hemera space ls shows the spaces there are")
				}
				r := spaceRecord(v, s, jobs)
				return e.Printer().One(cli.ColumnsOf(r), r)
			})
		},
	}
}
