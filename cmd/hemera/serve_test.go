package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/process/config"
)

// TestEverySettingHasItsFlag: each setting has a flag of the name that docs/operations.md lists.
func TestEverySettingHasItsFlag(t *testing.T) {
	root := newRootCommand(&cli.Env{Console: cli.Console{Err: io.Discard}})
	var commands []*cobra.Command
	for _, name := range []string{"up", "manager", "node", "tape serve"} {
		c, _, err := root.Find(strings.Fields(name))
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, c)
	}
	all := pflag.NewFlagSet("all", pflag.ContinueOnError)
	config.Register(all)
	all.VisitAll(func(f *pflag.Flag) {
		if !slices.ContainsFunc(commands, func(c *cobra.Command) bool { return c.Flags().Lookup(f.Name) != nil }) {
			t.Errorf("no command takes --%s", f.Name)
		}
	})
}
