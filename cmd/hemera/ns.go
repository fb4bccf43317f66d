package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/admin"
	"hemera/cmd/hemera/internal/output"
)

func nsCommand(e *env) *cobra.Command {
	return noun("ns", "Namespace: counts, rates, latencies; check, backup, restore, benchmark, bulk loading",
		nsStatCommand(e), nsCheckCommand(e), nsBackupCommand(e), nsRestoreCommand(e), nsRekeyCommand(e), nsBenchmarkCommand(e), nsLoadCommand(e))
}

func nsStatCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "stat", Short: "Counts, rates and latencies of the manager", Args: cobra.NoArgs,
		Long: `Shows what the namespace holds and, for every operation, how often it was done, how often
it failed, its rate over four windows and its latency: exec is the median, then the 99th
and 99.9th of 100 and the maximum, all in milliseconds of the server's part.`,
		Example: `  hemera ns stat
  hemera ns stat -m | grep cmd=Stat`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := m.NamespaceStats(ctx)
				if err != nil {
					return err
				}
				ops, err := m.Operations(ctx)
				if err != nil {
					return err
				}
				return e.printNamespace(n, ops)
			})
		},
	}
}

func (e *env) printNamespace(n hemera.NamespaceStats, ops []hemera.OpStat) error {
	head := namespaceRecord(n, since(e.Now(), n.Booted))
	var records []output.Record
	for _, op := range ops {
		records = append(records, opRecord(op))
	}
	p := e.printer()
	if p.Format != output.Table {
		return p.List(nil, append([]output.Record{head}, records...))
	}
	if err := p.One(columnsOf(head), head); err != nil {
		return err
	}
	fmt.Fprintln(e.Out)
	return p.List(opColumns, records)
}

func namespaceRecord(n hemera.NamespaceStats, uptime float64) output.Record {
	return output.Record{
		{Key: "ns.total.files", Value: n.Totals.Files}, {Key: "ns.total.directories", Value: n.Totals.Dirs},
		{Key: "ns.total.bytes", Value: n.Totals.Bytes}, {Key: "ns.total.physical_bytes", Value: n.Totals.Physical},
		{Key: "ns.boot.status", Value: "booted"}, {Key: "ns.boot.seconds", Value: n.BootDuration.Seconds()}, {Key: "ns.uptime", Value: uptime},
		{Key: "ns.next.id", Value: uint64(n.NextID)}, {Key: "ns.epoch", Value: n.Epoch}, {Key: "ns.sequence", Value: n.Sequence},
		{Key: "ns.cache.bytes", Value: n.CacheBytes}, {Key: "ns.cache.bytes_max", Value: n.CacheMax},
		{Key: "ns.cache.hits", Value: n.CacheHits}, {Key: "ns.cache.misses", Value: n.CacheMisses}, {Key: "ns.store.bytes", Value: n.StoreBytes},
		{Key: "ns.store.cache_bytes", Value: n.StoreCacheBytes}, {Key: "ns.store.cache_bytes_max", Value: n.StoreCacheMax},
		{Key: "ns.pending.writes", Value: n.Pending}, {Key: "ns.unlinked.pieces", Value: n.Unlinked},
		{Key: "ns.held.pieces", Value: n.Held}, {Key: "ns.held.bytes", Value: n.HeldBytes},
		{Key: "ns.memory.rss", Value: n.RSS}, {Key: "ns.stat.goroutines", Value: n.Goroutines},
	}
}

func opRecord(op hemera.OpStat) output.Record {
	return output.Record{
		{Key: "uid", Value: "all"}, {Key: "cmd", Value: op.Name}, {Key: "total", Value: op.Count}, {Key: "errors", Value: op.Errors},
		{Key: "5s", Value: op.Rate5s}, {Key: "60s", Value: op.Rate1m}, {Key: "300s", Value: op.Rate5m}, {Key: "3600s", Value: op.Rate1h},
		{Key: "exec", Value: 1e3 * op.P50.Seconds()}, {Key: "exec99", Value: 1e3 * op.P99.Seconds()},
		{Key: "exec999", Value: 1e3 * op.P999.Seconds()}, {Key: "execmax", Value: 1e3 * op.Max.Seconds()},
	}
}

var opColumns = []output.Column{
	{Title: "who", Key: "uid"},
	{Title: "command", Key: "cmd"},
	{Title: "sum", Key: "total"},
	{Title: "errors", Key: "errors"},
	{Title: "5s", Key: "5s"},
	{Title: "1min", Key: "60s"},
	{Title: "5min", Key: "300s"},
	{Title: "1h", Key: "3600s"},
	{Title: "exec(ms)", Key: "exec", Show: output.Digits(3)},
	{Title: "99p", Key: "exec99", Show: output.Digits(3)},
	{Title: "99.9p", Key: "exec999", Show: output.Digits(3)},
	{Title: "max", Key: "execmax", Show: output.Digits(3)},
}
