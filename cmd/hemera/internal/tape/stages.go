package tape

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/hemera"
)

// stagesCommand makes `hemera tape stage ls`.
func stagesCommand(e *cli.Env) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List requests to stage that are remembered", Args: cobra.NoArgs,
		Long: `A request is remembered for two weeks, or for an hour if none of its files could be staged. How many
a user may have is in the operator's manual, "Limits".`,
		Example: "  hemera tape stage ls\n  hemera tape stage ls --all        of all users, for admins",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				list, err := m.Staging.Stages(ctx, hemera.Identity{}, all)
				if err != nil {
					return err
				}
				var records []output.Record
				for _, s := range list {
					records = append(records, output.Record{{Key: "request_id", Value: s.ID}, {Key: "uid", Value: s.UID}, {Key: "made", Value: s.Made.Unix()},
						{Key: "files", Value: s.Files}, {Key: "bytes", Value: s.Bytes}, {Key: "cancelled", Value: s.Cancelled}, {Key: "failed", Value: s.Failed}})
				}
				columns := []output.Column{{Title: "request", Key: "request_id"}, {Title: "user", Key: "uid"}, {Title: "files", Key: "files"},
					{Title: "bytes", Key: "bytes"}, {Title: "cancelled", Key: "cancelled"}, {Title: "failed", Key: "failed"}}
				return e.List(columns, records, "no request is remembered")
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "those of all users, for admins")
	return c
}

// dropStagesCommand makes `hemera tape stage drop`.
func dropStagesCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "drop <request>…", Short: "Withdraw requests to stage and forget them", Args: cobra.MinimumNArgs(1),
		Long: `Files that only these requests wait for are not recalled, and files that only they keep on disk may leave it. Admins drop
the requests of others, too.`,
		Example: "  hemera tape stage drop d7b612a864d81aa9:1795490775",
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				var failed failures
				for _, id := range args {
					err := m.Staging.CancelStage(ctx, hemera.Identity{}, id, nil, true)
					if err == nil {
						e.Say("%s: dropped", id)
					}
					failed.add(id, err)
				}
				return failed.together("drop")
			})
		},
	}
}
