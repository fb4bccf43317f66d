package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/app/config"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
)

// ConfigCommand makes `hemera config`: settings of the manager.
// show needs a manager; example needs none, because the program itself knows all settings.
func ConfigCommand(e *cli.Env) *cobra.Command {
	show := &cobra.Command{
		Use: "show", Short: "Settings in force at the manager, and where each came from", Args: cobra.NoArgs,
		Long: `Lists the settings of the running manager. The source is default, file, environment or
flag; the later in this list wins. Secrets are not shown.`,
		Example: `  hemera config show
  hemera config show -m | grep key=space.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				settings, err := m.Config(ctx)
				if err != nil {
					return err
				}
				var records []output.Record
				for _, s := range settings {
					// Secrets are not among them: the manager leaves them out.
					records = append(records, output.Record{{Key: "key", Value: s.Key}, {Key: "value", Value: s.Value}, {Key: "source", Value: s.Source}})
				}
				return e.Printer().List([]output.Column{
					// A setting has one row.
					{Title: "key", Key: "key"}, {Title: "value", Key: "value"}, {Title: "source", Key: "source"},
				}, records)
			})
		},
	}
	example := &cobra.Command{
		Use: "example", Short: "A settings file with every setting, its meaning and its default", Args: cobra.NoArgs,
		Example: "  hemera config example > /etc/hemera/hemera.toml",
		// It writes TOML, so -m and -j change nothing.
		RunE: func(*cobra.Command, []string) error { return config.Example(e.Out) },
	}
	c := cli.Noun("config", "Configuration: the settings in force, and all that there are", show, example)
	c.Long = `Each setting has a default. The file /etc/hemera/hemera.toml, the environment and flags change it, and
the later in this list wins.`
	c.Example = `  hemera config example > /etc/hemera/hemera.toml
  hemera config show`
	return c
}
