package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/cmd/hemera/internal/storage"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// NetCommand makes `hemera net`: nodes that lose packets, and the evidence.
func NetCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("net", "Networks of the nodes: which one loses packets, and why", netLsCommand(e), netWhyCommand(e))
	c.Long = `Every node counts, every 10 s, what TCP lost on the way to each other node and to clients. The
manager compares all of them and finds the host that loses. A suspected node gets fewer new files
and fewer readers until it is well again.`
	c.Example = `  hemera net ls         every node, and its worst path
  hemera net why 3      what is known of node 3, and where to look`
	return c
}

// netLsCommand makes `hemera net ls`.
func netLsCommand(e *cli.Env) *cobra.Command {
	var bad bool
	c := &cobra.Command{
		Use: "ls", Short: "List nodes with what is known of their networks", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists the nodes with their standing: well, suspected with the cause, or unknown, which means that too
little was sent to say. Losses are shares of TCP segments in the last minutes. in and out are as the
node sees them: out is what it sends. Nodes of one host have one network, and the same figures.`,
		Example: `  hemera net ls
  hemera net ls -e      only suspected ones
  hemera net ls -j      all figures, for programs`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				r, err := m.Status.Network(ctx)
				if err != nil {
					return err
				}
				var rows []output.Record
				for _, n := range r.Nodes {
					if !bad || n.Standing == adminapi.NetworkSuspected {
						rows = append(rows, networkRecord(e, n))
					}
				}
				empty := "no node has joined yet: hemera token create makes what one needs"
				if bad {
					empty = "no node's network is suspected"
				}
				return e.List(networkColumns, rows, empty)
			})
		},
	}
	c.Flags().BoolVarP(&bad, "errors", "e", false, "only nodes whose network is suspected")
	return c
}

// networkRecord makes the record of a node. Rates are bytes per second, losses are in percent, round trips in milliseconds.
func networkRecord(e *cli.Env, n adminapi.NodeNetwork) output.Record {
	r := output.Record{
		{Key: "type", Value: "network"}, {Key: "id", Value: uint32(n.Node)}, {Key: "hostport", Value: n.Addr},
		{Key: "standing", Value: string(n.Standing)}, {Key: "cause", Value: n.Cause}, {Key: "direction", Value: n.Direction}, {Key: "weight", Value: n.Weight},
		{Key: "since", Value: cli.Unix(n.Since)}, {Key: "sampledelta", Value: cli.Ago(e.Now(), n.Sampled)},
		{Key: "in.bytes_per_second", Value: n.InRate}, {Key: "out.bytes_per_second", Value: n.OutRate},
		{Key: "in.segments", Value: n.In.Segments}, {Key: "in.lost", Value: n.In.Lost}, {Key: "in.lost_percent", Value: lostPercent(n.In)},
		{Key: "out.segments", Value: n.Out.Segments}, {Key: "out.lost", Value: n.Out.Lost}, {Key: "out.lost_percent", Value: lostPercent(n.Out)},
		{Key: "rtt_ms", Value: milliseconds(n.RTT.Seconds())}, {Key: "usual_rtt_ms", Value: milliseconds(n.UsualRTT.Seconds())},
	}
	worst, lost := "", any(nil)
	if w := n.Worst; w != nil {
		worst, lost = peerName(w), lostPercent(w.Loss)
	}
	r = append(r, output.Record{{Key: "worst.peer", Value: worst}, {Key: "worst.lost_percent", Value: lost}}...)
	return append(r, output.Record{{Key: "text", Value: n.Where}, {Key: "remedy", Value: n.Remedy}}...)
}

// peerName returns the other end of a path, with the direction that loses segments.
func peerName(w *adminapi.NetworkWorst) string {
	peer := w.Addr
	if peer == "" {
		peer = "clients"
	}
	if w.Direction == "in" {
		return "from " + peer
	}
	return "to " + peer
}

// lostPercent returns the percentage of segments that were lost; nil without segments.
func lostPercent(l adminapi.NetworkLoss) any {
	if !(l.Segments >= 1) {
		return nil
	}
	return 100 * l.Share()
}

// milliseconds returns a time in milliseconds; nil if it was not measured.
func milliseconds(seconds float64) any {
	if seconds <= 0 {
		return nil
	}
	return 1000 * seconds
}

// known returns a Show that leaves unknown values out.
func known(show func(any) string) func(any) string {
	return func(v any) string {
		if v == nil {
			return ""
		}
		return show(v)
	}
}

// networkColumns has the columns of net ls.
var networkColumns = []output.Column{
	{Title: "id", Key: "id"},
	{Title: "hostport", Key: "hostport"},
	{Title: "standing", Key: "standing"},
	{Title: "cause", Key: "cause"},                                               // of a suspected node
	{Title: "direction", Key: "direction", Wide: 1},                              // which way it loses
	{Title: "weight", Key: "weight", Show: output.Digits(2)},                     // of new pieces and readers
	{Title: "in/s", Key: "in.bytes_per_second", Show: output.Bytes},              // of its interfaces, over the last sample
	{Title: "out/s", Key: "out.bytes_per_second", Show: output.Bytes},            // as in/s
	{Title: "in-lost%", Key: "in.lost_percent", Show: known(output.Digits(3))},   // of what others sent to it
	{Title: "out-lost%", Key: "out.lost_percent", Show: known(output.Digits(3))}, // of what it sent
	{Title: "rtt-ms", Key: "rtt_ms", Show: known(output.Digits(2)), Wide: 1},     // mean to other nodes
	{Title: "worst", Key: "worst.peer"},
	{Title: "worst-lost%", Key: "worst.lost_percent", Show: known(output.Digits(3))},
	{Title: "sample", Key: "sampledelta", Show: output.Seconds, Wide: 1}, // since the last sample
}

// netWhyCommand makes `hemera net why`.
func netWhyCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "why <node>", Short: "Explain what is known of a node's network, and where to look", Args: cobra.ExactArgs(1),
		Long: `Says what the manager thinks of a node's network, the figures it rests on, and what to look at first.
The node is named by its id, its host or host:port.`,
		Example: `  hemera net why 3
  hemera net why node3.example.org -j`,
		ValidArgsFunction: complete.Nodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := storage.FindNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				x, err := m.Status.Why(ctx, hemera.Identity{}, adminapi.WhyNetwork, n.ID.String())
				if err != nil {
					return err
				}
				return printWhy(e, x)
			})
		},
	}
}
