package storage

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
)

func nodeLsCommand(e *cli.Env) *cobra.Command {
	var sys, io bool
	c := &cobra.Command{
		Use: "ls", Short: "List nodes", Args: cobra.NoArgs, Aliases: []string{"list"},
		Example: `  hemera node ls
  hemera node ls --sys     what the machines and processes are
  hemera node ls --io      rates and loads, summed over a node's disks`,
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
				var nodes []output.Record
				for _, n := range v.Nodes {
					nodes = append(nodes, nodeRecord(e, v, n, jobs))
				}
				columns := nodeColumns
				if sys {
					columns = nodeSysColumns
				} else if io {
					columns = nodeIOColumns
				}
				return e.List(columns, nodes, "no node has joined yet: hemera token create makes what one needs")
			})
		},
	}
	c.Flags().BoolVar(&sys, "sys", false, "what the machines and processes are")
	c.Flags().BoolVar(&io, "io", false, "rates and loads")
	c.MarkFlagsMutuallyExclusive("sys", "io")
	return c
}

var nodeColumns = []output.Column{
	{Title: "type", Key: "type", Wide: 2},
	{Title: "id", Key: "id"},
	{Title: "hostport", Key: "hostport"},
	{Title: "zone", Key: "cfg.stat.geotag"},
	{Title: "status", Key: "status"},
	{Title: "activated", Key: "cfg.status", Wide: 1},
	{Title: "drain", Key: "drainstatus"},
	{Title: "heartbeatdelta", Key: "heartbeatdelta", Show: output.Seconds},
	{Title: "disks", Key: "nofs"},
}

var nodeSysColumns = []output.Column{
	{Title: "hostport", Key: "hostport"},
	{Title: "zone", Key: "cfg.stat.geotag", Wide: 1},
	{Title: "rss", Key: "cfg.stat.sys.rss", Show: output.Bytes},
	{Title: "threads", Key: "cfg.stat.sys.threads"},
	{Title: "sockets", Key: "cfg.stat.sys.sockets", Wide: 1},
	{Title: "hemera", Key: "cfg.stat.sys.eos.version"},
	{Title: "kernel", Key: "cfg.stat.sys.kernel", Wide: 1},
	{Title: "arch", Key: "cfg.stat.sys.arch", Wide: 1},
	{Title: "load", Key: "cfg.stat.sys.load1"},
	{Title: "uptime", Key: "cfg.stat.sys.uptime", Show: output.Seconds},
}

var nodeIOColumns = []output.Column{
	{Title: "hostport", Key: "hostport"},
	{Title: "zone", Key: "cfg.stat.geotag", Wide: 1},
	{Title: "diskload", Key: "avg.stat.disk.load"},
	{Title: "diskr-MB/s", Key: "sum.stat.disk.readratemb"},
	{Title: "diskw-MB/s", Key: "sum.stat.disk.writeratemb"},
	{Title: "eth-MiB/s", Key: "sum.stat.net.ethratemib", Wide: 1},
	{Title: "ethi-MiB", Key: "sum.stat.net.inratemib", Wide: 1},
	{Title: "etho-MiB", Key: "sum.stat.net.outratemib", Wide: 1},
	{Title: "ropen", Key: "sum.stat.ropen"},
	{Title: "wopen", Key: "sum.stat.wopen"},
	{Title: "usage", Key: "usage", Show: output.Percent},
	{Title: "used-bytes", Key: "sum.stat.statfs.usedbytes", Show: output.Bytes},
	{Title: "max-bytes", Key: "sum.stat.statfs.capacity", Show: output.Bytes, Wide: 1},
	{Title: "used-files", Key: "sum.stat.usedfiles", Wide: 1},
}
