package storage

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/wire"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// NodeCommand makes `hemera node`, the commands for storage nodes. Package serve adds the part that runs a node, because
// this package does not import the server.
func NodeCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("node", "Storage nodes: run one; list, look at, change", nodeLsCommand(e), nodeStatusCommand(e), nodeSetCommand(e), nodeDrainCommand(e), nodeUndrainCommand(e), nodeAdmitCommand(e), nodeWaitCommand(e), nodeRmCommand(e))
	c.Long = `A node is the process that serves the disks of one machine (EOS: FST). Without a command
after it, this runs one until Ctrl-C; the first start needs a join token.`
	return c
}

// FindNode finds a node by id, host:port or host, in this order, with one request. It fails with NotFound, or with
// Invalid for a host with several nodes.
func FindNode(ctx context.Context, m *admin.Client, name string) (hemera.NodeInfo, error) {
	v, err := m.Cluster.View(ctx)
	if err != nil {
		return hemera.NodeInfo{}, err
	}
	if id, err := strconv.ParseUint(name, 10, 32); err == nil {
		if n, ok := v.Node(hemera.NodeID(id)); ok {
			return n, nil
		}
	}
	// Two nodes of one machine share its host name.
	var found []hemera.NodeInfo
	for _, n := range v.Nodes {
		if n.Addr == name {
			return n, nil
		}
		if n.Host() == name {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return hemera.NodeInfo{}, errs.New(errs.NotFound, "hemera.FindNode", name, "there is no such node").
			WithRemedy("hemera node ls shows the nodes there are")
	}
	return hemera.NodeInfo{}, errs.New(errs.Invalid, "hemera.FindNode", name, "this host has several nodes").
		WithRemedy("name it by host:port or by its id")
}

// nodeRecord makes the record of a node: the sums of its disks, and the node's measurements of its process and machine.
// jobs are those of the whole cluster.
func nodeRecord(e *cli.Env, v *hemera.View, n hemera.NodeInfo, jobs []adminapi.JobStatus) output.Record {
	var disks []hemera.Disk
	for _, d := range v.Disks {
		if d.Node == n.ID {
			disks = append(disks, d)
		}
	}
	// Folders of one file system share its room.
	all := v.Room(disks)
	r := output.Record{
		// EOS's tools test this word for the kind of record.
		{Key: "type", Value: "nodesview"}, {Key: "id", Value: uint32(n.ID)}, {Key: "hostport", Value: n.Addr},
		{Key: "status", Value: nodeStatus(n)}, {Key: "cfg.status", Value: cli.OnOff(n.Enabled, "on", "off")},
		// nil before the first heartbeat.
		{Key: "heartbeatdelta", Value: cli.Ago(e.Now(), n.Heartbeat)}, {Key: "nofs", Value: len(disks)}, {Key: "epoch", Value: uint64(n.Epoch)},
		{Key: "cfg.stat.geotag", Value: n.Zone},
		// Memory is in bytes. The keys are EOS's, although the values are reports and not configuration.
		{Key: "cfg.stat.sys.rss", Value: n.Stats.RSS}, {Key: "cfg.stat.sys.vsize", Value: n.Stats.VSize}, {Key: "cfg.stat.sys.threads", Value: n.Stats.Threads},
		{Key: "cfg.stat.sys.goroutines", Value: n.Stats.Goroutines}, {Key: "cfg.stat.sys.sockets", Value: n.Stats.Sockets},
		{Key: "cfg.stat.sys.eos.version", Value: n.Version}, {Key: "cfg.stat.sys.xrootd.version", Value: protocolVersion()},
		{Key: "instance", Value: instance(n)},
		// The start of the process, in seconds since 1970.
		{Key: "cfg.stat.sys.eos.start", Value: cli.Unix(n.Stats.Started)},
		{Key: "cfg.stat.sys.kernel", Value: n.Stats.Kernel}, {Key: "cfg.stat.sys.arch", Value: n.Stats.Arch},
		{Key: "cfg.stat.sys.uptime", Value: cli.Since(e.Now(), n.Stats.Started)}, {Key: "cfg.stat.sys.load1", Value: n.Stats.Load1},
		{Key: "cfg.stat.sys.cpuseconds", Value: n.Stats.CPUSeconds}, {Key: "usage", Value: 100 * all.Filling()},
	}
	r = append(r, nodeDrain(disks, jobs)...)
	r = append(r, sumsOf(v, disks)...)
	// The key is there only if something is wrong, so that grep finds it.
	if len(n.Stats.Unusable) > 0 {
		r = append(r, output.Field{Key: "stat.errmsg", Value: unusable(n)})
	}
	// Each interface has one group of keys. The node measures the rates.
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

// nodeStatus returns the status of a node in one word.
func nodeStatus(n hemera.NodeInfo) string {
	if n.Stopping {
		return "stopping"
	}
	return string(n.Status)
}

// instance returns a number that tells one process of a node from the next: its start in microseconds since 1970, or 0
// before the first report.
func instance(n hemera.NodeInfo) int64 {
	if n.Stats.Started.IsZero() {
		return 0
	}
	return n.Stats.Started.UnixMicro()
}

// unusable returns the paths that the node cannot use as disks, with the reasons.
func unusable(n hemera.NodeInfo) string {
	var parts []string
	for _, u := range n.Stats.Unusable {
		parts = append(parts, u.Path+": "+u.Why)
	}
	return strings.Join(parts, "; ")
}

// protocolVersion returns the version of the XRootD protocol that nodes announce, as major.minor.patch. The constant has
// one byte for the major version and four bits for each of the others.
func protocolVersion() string {
	const v = wire.ProtocolVersion
	return fmt.Sprintf("%d.%d.%d", v>>8, v>>4&15, v&15)
}
