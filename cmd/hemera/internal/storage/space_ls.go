package storage

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
)

func spaceLsCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List spaces", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists spaces: their disks, how full these are, and what new files get.`,
		Example: `  hemera space ls
  hemera space ls -m | grep name=default`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				v, err := m.View(ctx)
				if err != nil {
					return err
				}
				jobs, err := m.Jobs(ctx)
				if err != nil {
					return err
				}
				var spaces []output.Record
				for _, s := range v.Spaces {
					spaces = append(spaces, spaceRecord(v, s, jobs))
				}
				return e.Printer().List(spaceColumns, spaces)
			})
		},
	}
}

var spaceColumns = []output.Column{
	{Title: "type", Key: "type", Wide: 2},
	{Title: "name", Key: "name"},
	{Title: "zone", Key: "geotag", Wide: 2},
	{Title: "groupsize", Key: "cfg.groupsize", Wide: 2},
	{Title: "groupmod", Key: "cfg.groupmod", Wide: 2},
	{Title: "disks", Key: "nofs"},
	{Title: "disks(rw)", Key: "sum.<n>?configstatus@rw", Wide: 2},
	{Title: "sum(usedbytes)", Key: "sum.stat.statfs.usedbytes", Show: output.Bytes},
	{Title: "sum(capacity)", Key: "sum.stat.statfs.capacity", Show: output.Bytes},
	{Title: "capacity(rw)", Key: "sum.stat.statfs.capacity?configstatus@rw", Show: output.Bytes, Wide: 1},
	{Title: "usage", Key: "usage", Show: output.Percent},
	{Title: "layout", Key: "policy.layout"},
	{Title: "nstripes", Key: "policy.nstripes"},
	{Title: "checksum", Key: "policy.checksum", Wide: 1},
	{Title: "minpieces", Key: "policy.minpieces", Show: output.Auto(output.Digits(0)), Wide: 2},
	{Title: "sync", Key: "policy.sync", Wide: 2},
	{Title: "headroom", Key: "headroom", Show: output.Auto(output.Bytes), Wide: 1},
}
