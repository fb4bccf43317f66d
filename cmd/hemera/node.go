package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
	"hemera/rules/wire"
)

func nodeCommand(e *env) *cobra.Command {
	c := noun("node", "Storage nodes: run one; list, look at, change", nodeLsCommand(e), nodeStatusCommand(e), nodeSetCommand(e), nodeDrainCommand(e), nodeUndrainCommand(e), nodeAdmitCommand(e), nodeRmCommand(e))
	c.Long = `A node is the process that serves the disks of one machine (EOS: FST). Without a command
after it, this runs one until Ctrl-C; the first start needs a join token.`
	return c
}

func nodeLsCommand(e *env) *cobra.Command {
	var sys, io bool
	c := &cobra.Command{
		Use: "ls", Short: "List nodes", Args: cobra.NoArgs, Aliases: []string{"list"},
		Example: `  hemera node ls
  hemera node ls --sys     what the machines and processes are
  hemera node ls --io      rates and loads, summed over a node's disks`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
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
					nodes = append(nodes, e.nodeRecord(v, n, jobs))
				}
				columns := nodeColumns
				if sys {
					columns = nodeSysColumns
				} else if io {
					columns = nodeIOColumns
				}
				return e.list(columns, nodes, "no node has joined yet: hemera token create makes what one needs")
			})
		},
	}
	c.Flags().BoolVar(&sys, "sys", false, "what the machines and processes are")
	c.Flags().BoolVar(&io, "io", false, "rates and loads")
	c.MarkFlagsMutuallyExclusive("sys", "io")
	return c
}

// nodeRecord sums a node's disks and adds what the node measured of itself.
func (e *env) nodeRecord(v *hemera.View, n hemera.NodeInfo, jobs []hemera.JobStatus) output.Record {
	var disks []hemera.Disk
	for _, d := range v.Disks {
		if d.Node == n.ID {
			disks = append(disks, d)
		}
	}
	all := v.Room(disks)
	r := output.Record{
		{Key: "type", Value: "nodesview"}, {Key: "id", Value: uint32(n.ID)}, {Key: "hostport", Value: n.Addr},
		{Key: "status", Value: string(n.Status)}, {Key: "cfg.status", Value: onOff(n.Enabled, "on", "off")},
		{Key: "heartbeatdelta", Value: ago(e.Now(), n.Heartbeat)}, {Key: "nofs", Value: len(disks)}, {Key: "epoch", Value: n.Epoch},
		{Key: "cfg.stat.geotag", Value: n.Zone},
		{Key: "cfg.stat.sys.rss", Value: n.Stats.RSS}, {Key: "cfg.stat.sys.vsize", Value: n.Stats.VSize}, {Key: "cfg.stat.sys.threads", Value: n.Stats.Threads},
		{Key: "cfg.stat.sys.goroutines", Value: n.Stats.Goroutines}, {Key: "cfg.stat.sys.sockets", Value: n.Stats.Sockets},
		{Key: "cfg.stat.sys.eos.version", Value: n.Version}, {Key: "cfg.stat.sys.xrootd.version", Value: protocolVersion()},
		{Key: "cfg.stat.sys.eos.start", Value: unix(n.Stats.Started)},
		{Key: "cfg.stat.sys.kernel", Value: n.Stats.Kernel}, {Key: "cfg.stat.sys.arch", Value: n.Stats.Arch},
		{Key: "cfg.stat.sys.uptime", Value: since(e.Now(), n.Stats.Started)}, {Key: "cfg.stat.sys.load1", Value: n.Stats.Load1},
		{Key: "cfg.stat.sys.cpuseconds", Value: n.Stats.CPUSeconds}, {Key: "usage", Value: percent(all.Used, all.Capacity)},
	}
	r = append(r, nodeDrain(disks, jobs)...)
	r = append(r, sumsOf(v, disks)...)
	if len(n.Stats.Unusable) > 0 {
		r = append(r, output.Field{Key: "stat.errmsg", Value: unusable(n)})
	}
	for _, i := range n.Stats.Net {
		// A dot in an interface's name (eth0.100) would open another level of JSON.
		at := "stat.net.if." + strings.ReplaceAll(i.Name, ".", "_") + "."
		r = append(r, output.Record{
			{Key: at + "speedmbit", Value: i.Speed / 1e6}, {Key: at + "inratemib", Value: i.InRate / (1 << 20)}, {Key: at + "outratemib", Value: i.OutRate / (1 << 20)},
			{Key: at + "inerrors", Value: i.InErrors}, {Key: at + "outerrors", Value: i.OutErrors}, {Key: at + "indrops", Value: i.InDrops},
		}...)
	}
	return r
}

// unusable names the paths that the node could not use as disks.
func unusable(n hemera.NodeInfo) string {
	var parts []string
	for _, u := range n.Stats.Unusable {
		parts = append(parts, u.Path+": "+u.Why)
	}
	return strings.Join(parts, "; ")
}

func nodeStatusCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "status <node>", Short: "Everything about one node, with each network interface", Args: cobra.ExactArgs(1),
		Example: `  hemera node status node1.example.org
  hemera node status 2 -m | tr ' ' '\n' | grep stat.net.`,
		ValidArgsFunction: completeNodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := findNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				v, err := m.View(ctx)
				if err != nil {
					return err
				}
				jobs, err := m.Jobs(ctx)
				if err != nil {
					return err
				}
				r := e.nodeRecord(v, n, jobs)
				return e.printer().One(columnsOf(r), r)
			})
		},
	}
}

func nodeSetCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "set <node> <key>=<value>", Short: "Change what is wanted of a node", Args: cobra.ExactArgs(2),
		Long: `Sets one property of a node:

  status   on or off: whether its disks are used; off does not repair around them
           (on and off may stand alone)
  zone     the failure domain of its disks, such as a room or rack; - for what the node says`,
		Example: `  hemera node set node1.example.org off
  hemera node set 2 zone=hall-b`,
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []cobra.Completion{"on", "off", "zone="}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return completeNodes(e)(c, args, word)
		},
		RunE: func(c *cobra.Command, args []string) error {
			key, value, ok := strings.Cut(args[1], "=")
			if !ok {
				key, value = "status", args[1]
			}
			if key == "status" && value != "on" && value != "off" {
				return usage(errs.New(errs.Invalid, "read status", value, "want on or off"))
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := findNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				if err := m.SetNode(ctx, n.ID, key, value); err != nil {
					return err
				}
				e.say("node %s: %s=%s", n.Addr, key, value)
				return nil
			})
		},
	}
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

// protocolVersion is which XRootD protocol nodes announce, as major.minor.patch.
func protocolVersion() string {
	const v = wire.ProtocolVersion
	return fmt.Sprintf("%d.%d.%d", v>>8, v>>4&15, v&15)
}
