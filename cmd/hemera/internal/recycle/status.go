package recycle

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/hemera"
)

// statusCommand makes `hemera recycle status`, for admins. Sums come from the totals of directories, so a large bin takes
// no longer; owners are counted one by one.
func statusCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show every recycle bin, and what is in it", Args: cobra.NoArgs,
		Long: `Shows the recycle bin of each directory with sys.recycle, and of each space with policy.recycle, once
something is in it:

  keeps         the rule: how long, and how much on the disks
  files, bytes  what is in it; physical counts every piece
  owners        users with something in it
  oldest        when its oldest entry was removed

A bin whose rule or directory is gone goes on with the last rule until it is empty.

For admins: works on the manager's machine, as root or as the user the manager runs as.`,
		Example: `  hemera recycle status
  hemera recycle status -j`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				// The manager refuses users, because sums would show the removals of others.
				bins, err := m.Recycle.ListBins(ctx, hemera.Identity{})
				if err != nil {
					return err
				}
				var records []output.Record // one for each bin, in the order of directories' ids, then spaces
				for _, b := range bins {
					var oldest int64 // 0 is never
					if !b.Oldest.IsZero() {
						oldest = b.Oldest.Unix()
					}
					records = append(records, output.Record{
						{Key: "bin", Value: b.Of}, {Key: "keeps", Value: b.Rule}, {Key: "files", Value: b.Tree.Files}, {Key: "dirs", Value: b.Tree.Dirs},
						{Key: "bytes", Value: b.Tree.Bytes}, {Key: "physical", Value: b.Tree.Physical}, {Key: "owners", Value: b.Owners}, {Key: "oldest", Value: oldest},
					})
				}
				return e.List(columns, records, "no recycle bin has anything; hemera attr set sys.recycle=30d DIRECTORY makes a directory keep what is removed")
			})
		},
	}
}

// columns has the columns of recycle status.
var columns = []output.Column{
	{Title: "bin", Key: "bin"},     // the directory or the space that it is for
	{Title: "keeps", Key: "keeps"}, // the rule
	{Title: "files", Key: "files"},
	{Title: "directories", Key: "dirs", Wide: 1},             // that were removed
	{Title: "bytes", Key: "bytes", Show: output.Bytes},       // of content
	{Title: "physical", Key: "physical", Show: output.Bytes}, // with all copies
	{Title: "owners", Key: "owners"},                         // users with something in it
	{Title: "oldest", Key: "oldest", Show: output.Time},      // when it was removed
}
