package storage

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
)

// nodeLsCommand makes `hemera node ls`. Each flag selects another table of the same records, as for fs ls.
func nodeLsCommand(e *cli.Env) *cobra.Command {
	var sys, io bool
	c := &cobra.Command{
		Use: "ls", Short: "List nodes", Args: cobra.NoArgs, Aliases: []string{"list"},
		Example: `  hemera node ls
  hemera node ls --sys     what the machines and processes are
  hemera node ls --io      rates and loads, summed over a node's disks`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				v, jobs, err := viewAndJobs(ctx, disksOf(m))
				if err != nil {
					return err
				}
				var nodes []output.Record
				for _, n := range v.Nodes {
					nodes = append(nodes, nodeRecord(e, v, n, jobs))
				}
				// -m and -j print all keys, whatever the flag.
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
	c.Flags().BoolVar(&sys, "sys", false, "what the machines and processes are") // versions, memory, uptime
	c.Flags().BoolVar(&io, "io", false, "rates and loads")                       // disks and network
	c.MarkFlagsMutuallyExclusive("sys", "io")
	return c
}

// nodeColumns are the table of node ls.
var nodeColumns = []output.Column{
	{Title: "type", Key: "type", Wide: 2}, // always nodesview
	{Title: "id", Key: "id"},
	{Title: "hostport", Key: "hostport"},
	{Title: "zone", Key: "cfg.stat.geotag"},                                // default of its disks
	{Title: "status", Key: "status"},                                       // online, stopping, offline or waiting for admission
	{Title: "activated", Key: "cfg.status", Wide: 1},                       // on or off, set by an admin
	{Title: "drain", Key: "drainstatus"},                                   // of all its disks together
	{Title: "heartbeatdelta", Key: "heartbeatdelta", Show: output.Seconds}, // since the last heartbeat
	{Title: "disks", Key: "nofs"},                                          // number of disks
	{Title: "version", Key: "cfg.stat.sys.eos.version", Wide: 1},           // of the program
}

// nodeSysColumns are the table of --sys. The keys named eos are EOS's names for the server's own version and start.
var nodeSysColumns = []output.Column{
	{Title: "hostport", Key: "hostport"},
	{Title: "zone", Key: "cfg.stat.geotag", Wide: 1},
	{Title: "rss", Key: "cfg.stat.sys.rss", Show: output.Bytes}, // memory of the process
	{Title: "threads", Key: "cfg.stat.sys.threads"},             // of the operating system
	{Title: "sockets", Key: "cfg.stat.sys.sockets", Wide: 1},    // open in the process
	{Title: "hemera", Key: "cfg.stat.sys.eos.version"},          // version of the program
	{Title: "kernel", Key: "cfg.stat.sys.kernel", Wide: 1},
	{Title: "arch", Key: "cfg.stat.sys.arch", Wide: 1},
	{Title: "load", Key: "cfg.stat.sys.load1"},                          // of the machine, over a minute
	{Title: "uptime", Key: "cfg.stat.sys.uptime", Show: output.Seconds}, // of the process
}

// nodeIOColumns are the table of --io.
var nodeIOColumns = []output.Column{
	{Title: "hostport", Key: "hostport"},
	{Title: "zone", Key: "cfg.stat.geotag", Wide: 1},
	{Title: "diskload", Key: "avg.stat.disk.load"},                // mean of its disks
	{Title: "diskr-MB/s", Key: "sum.stat.disk.readratemb"},        // sum of its disks
	{Title: "diskw-MB/s", Key: "sum.stat.disk.writeratemb"},       // 10^6 bytes a second
	{Title: "eth-MiB/s", Key: "sum.stat.net.ethratemib", Wide: 1}, // nominal speed, 2^20 bytes
	{Title: "ethi-MiB", Key: "sum.stat.net.inratemib", Wide: 1},   // received each second
	{Title: "etho-MiB", Key: "sum.stat.net.outratemib", Wide: 1},  // sent each second
	{Title: "ropen", Key: "sum.stat.ropen"},                       // pieces open for reading
	{Title: "wopen", Key: "sum.stat.wopen"},                       // pieces open for writing
	{Title: "usage", Key: "usage", Show: output.Percent},          // of all its file systems together
	{Title: "used-bytes", Key: "sum.stat.statfs.usedbytes", Show: output.Bytes},
	{Title: "max-bytes", Key: "sum.stat.statfs.capacity", Show: output.Bytes, Wide: 1},
	{Title: "used-files", Key: "sum.stat.usedfiles", Wide: 1}, // pieces
}
