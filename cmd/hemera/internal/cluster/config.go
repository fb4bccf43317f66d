package cluster

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/process/config"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// ConfigCommand makes `hemera config`: settings of the manager. All verbs except example need a manager.
func ConfigCommand(e *cli.Env) *cobra.Command {
	show := &cobra.Command{
		Use: "show", Short: "Settings in force at the manager, and where each came from", Args: cobra.NoArgs,
		Long: `Lists the settings of the running manager. The source is default, a file with the line, the environment or
a flag. Secrets are not shown.`,
		Example: `  hemera config show
  hemera config show -m | grep key=space.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				settings, err := m.About.Config(ctx)
				if err != nil {
					return err
				}
				var records []output.Record
				for _, s := range settings {
					// The manager leaves out secrets.
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
		// It writes TOML, so -m and -j have no effect.
		RunE: func(*cobra.Command, []string) error { return config.Example(e.Out) },
	}
	set := &cobra.Command{
		Use: "set KEY=VALUE…", Short: "Change settings of the manager while it runs, and for its next starts", Args: cobra.MinimumNArgs(1),
		Long: `Changes settings at once and durably: the manager keeps them in settings.toml of its data directory. They
are stronger than the settings file, and weaker than the environment and flags. A setting that changes
with a restart only is refused, and so is one that a flag or the environment sets; then nothing changes.
Lists have commas. Settings of "hemera up" hold for its nodes too; other nodes have settings of their own.`,
		Example: `  hemera config set repair.grace=1h
  hemera config set auth.trusted_networks=10.1.0.0/16,10.2.0.0/16 log.level=debug`,
		RunE: func(c *cobra.Command, args []string) error {
			r := adminapi.ConfigChange{Set: map[string]string{}}
			for _, a := range args {
				key, value, ok := strings.Cut(a, "=")
				if !ok {
					return cli.Usage(errs.New(errs.Invalid, "hemera.ConfigSet", a, "a value is missing").WithRemedy("write " + a + "=VALUE"))
				}
				r.Set[key] = value
			}
			return configure(e, c, r)
		},
	}
	unset := &cobra.Command{
		Use: "unset KEY…", Short: "End what config set did: the settings file or the default holds again", Args: cobra.MinimumNArgs(1),
		Example: "  hemera config unset repair.grace",
		RunE: func(c *cobra.Command, args []string) error {
			return configure(e, c, adminapi.ConfigChange{Unset: args})
		},
	}
	reload := &cobra.Command{
		Use: "reload", Short: "Have the manager read its settings file again", Args: cobra.NoArgs,
		Long: `Reads the settings file again, as SIGHUP does. What can change while the manager runs is in force then; what
needs a restart is listed, and stays as it is until then. If anything in the file is wrong, nothing
changes, and the errors name its lines.`,
		Example: "  hemera config reload",
		RunE:    func(c *cobra.Command, _ []string) error { return configure(e, c, adminapi.ConfigChange{}) },
	}
	c := cli.Noun("config", "Configuration: the settings in force, and all that there are", show, set, unset, reload, example)
	c.Long = `Each setting has a default. The file /etc/hemera/hemera.toml, "config set", the environment and flags
change it, and the later in this list wins.`
	c.Example = `  hemera config example > /etc/hemera/hemera.toml
  hemera config show
  hemera config set repair.grace=1h`
	return c
}

// configure requests a change of settings and prints the differences.
func configure(e *cli.Env, c *cobra.Command, r adminapi.ConfigChange) error {
	return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
		result, err := m.About.Configure(ctx, r)
		if err != nil {
			return err
		}
		var records []output.Record
		for _, s := range result.Changes {
			when := "now"
			if s.Restart {
				when = "after a restart"
			}
			records = append(records, output.Record{{Key: "key", Value: s.Key}, {Key: "was", Value: s.Was}, {Key: "value", Value: s.Value}, {Key: "inforce", Value: when}, {Key: "source", Value: s.Source}})
		}
		return e.List([]output.Column{
			{Title: "key", Key: "key"}, {Title: "was", Key: "was"}, {Title: "value", Key: "value"}, {Title: "in force", Key: "inforce"}, {Title: "source", Key: "source"},
		}, records, "nothing is different")
	})
}
