package main

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/admin"
	"hemera/cmd/hemera/internal/output"
)

func configCommand(e *env) *cobra.Command {
	return noun("config", "Configuration: what is in force", &cobra.Command{
		Use: "show", Short: "Settings in force at the manager, and where each came from", Args: cobra.NoArgs,
		Long: `Lists the settings of the running manager. The source is default, file, environment or
flag; the later in this list wins. Secrets are not shown.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				settings, err := m.Config(ctx)
				if err != nil {
					return err
				}
				var records []output.Record
				for _, s := range settings {
					records = append(records, output.Record{{Key: "key", Value: s.Key}, {Key: "value", Value: s.Value}, {Key: "source", Value: s.Source}})
				}
				return e.printer().List([]output.Column{
					{Title: "key", Key: "key"}, {Title: "value", Key: "value"}, {Title: "source", Key: "source"},
				}, records)
			})
		},
	})
}
