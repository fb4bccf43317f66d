package files

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
)

// attrLsCommand makes `hemera attr ls`. Names are sorted. For an entry without attributes it prints nothing. It shows
// sys.* attributes of this entry only; --effective includes inherited ones.
func attrLsCommand(e *cli.Env) *cobra.Command {
	var effective bool
	c := &cobra.Command{
		Use: "ls <path>", Short: "List attributes", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Paths(e),
		Long: `Lists the attributes of an entry, or with --effective the policy that a new file in a directory gets,
what is kept of files that are removed or replaced, and the rules by which files expire or are
converted; with the source of each: an attribute of this directory or one above it, or the space.
Clients may still ask for another layout in URLs unless sys.forced.nouserlayout forbids it.`,
		Example: `  hemera attr ls /exp
  hemera attr ls --effective /exp/2026`,
		RunE: func(c *cobra.Command, args []string) error {
			// A different result: a table with sources.
			if effective {
				return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return effectivePolicy(ctx, e, m, args[0]) })
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				attrs, _, err := attributes(ctx, e, m, args[0])
				if err != nil {
					return err
				}
				s := e.Stream(func(r output.Record) string { return fmt.Sprintf("%v=%q", r.Get("name"), r.Get("value")) })
				for _, name := range slices.Sorted(maps.Keys(attrs)) { // maps have no order
					if err := s.Add(output.Record{{Key: "name", Value: name}, {Key: "value", Value: string(attrs[name])}}); err != nil {
						return err
					}
				}
				return s.Close()
			})
		},
	}
	c.Flags().BoolVar(&effective, "effective", false, "the policies and rules in force there, with their sources")
	return c
}
