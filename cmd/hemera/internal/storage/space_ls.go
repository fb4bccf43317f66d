package storage

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
)

// spaceLsCommand makes `hemera space ls`. The space "default" always exists, so the list is never empty.
func spaceLsCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List spaces", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists spaces: their disks, how full these are, what new files get, and whether pieces are being
moved to balance the disks.`,
		Example: `  hemera space ls
  hemera space ls -m | grep name=default`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				v, jobs, err := viewAndJobs(ctx, disksOf(m))
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

// spaceColumns are the table of space ls. Titles are EOS's.
var spaceColumns = []output.Column{
	{Title: "type", Key: "type", Wide: 2}, // always spaceview
	{Title: "name", Key: "name"},
	{Title: "zone", Key: "geotag", Wide: 2},                                                               // if all disks have the same
	{Title: "disks", Key: "nofs"},                                                                         // all, whatever their state
	{Title: "disks(rw)", Key: "sum.<n>?configstatus@rw", Wide: 2},                                         // those that take new files
	{Title: "sum(usedbytes)", Key: "sum.stat.statfs.usedbytes", Show: output.Bytes},                       // a shared file system counts once
	{Title: "sum(capacity)", Key: "sum.stat.statfs.capacity", Show: output.Bytes},                         // likewise
	{Title: "capacity(rw)", Key: "sum.stat.statfs.capacity?configstatus@rw", Show: output.Bytes, Wide: 1}, // of these disks
	{Title: "usage", Key: "usage", Show: output.Percent},                                                  // of used and free bytes, in percent
	{Title: "layout", Key: "policy.layout"},                                                               // of new files, as below
	{Title: "nstripes", Key: "policy.nstripes"},                                                           // pieces of a file
	{Title: "checksum", Key: "policy.checksum", Wide: 1},                                                  // of the whole file
	{Title: "minpieces", Key: "policy.minpieces", Show: output.Auto(output.Digits(0)), Wide: 2},           // pieces that a close waits for
	{Title: "sync", Key: "policy.sync", Wide: 2},                                                          // whether a close waits for the disks
	{Title: "headroom", Key: "headroom", Show: output.Auto(output.Bytes), Wide: 1},                        // on each disk
	{Title: "balancer", Key: "cfg.balancer", Wide: 2},                                                     // on or off
	{Title: "balance", Key: "balance.state", Wide: 1},                                                     // what it does now
}
