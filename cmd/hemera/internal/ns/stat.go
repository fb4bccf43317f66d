package ns

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
)

// nsStatCommand makes `hemera ns stat`. It makes two requests, one shortly after the other.
func nsStatCommand(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "stat", Short: "Counts, rates and latencies of the manager", Args: cobra.NoArgs,
		Long: `Shows what the namespace holds and, for every operation, how often it was done, how often
it failed, its rate over four windows and its latency: exec is the median, then come
the 99th and 99.9th percentile and the maximum, in milliseconds, without the network.`,
		Example: `  hemera ns stat
  hemera ns stat -m | grep cmd=Stat`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := m.Observe.NamespaceStats(ctx)
				if err != nil {
					return err
				}
				ops, err := m.Observe.Operations(ctx)
				if err != nil {
					return err
				}
				return printNamespace(e, n, ops)
			})
		},
	}
	// Scripts for EOS ask for all users and numbers: nothing is counted by user here.
	c.Flags().BoolP("all", "a", false, "accepted as EOS has it: counts are always of all users together")
	c.Flags().BoolP("numeric", "n", false, "accepted as EOS has it: there are no names to resolve")
	return c
}

// printNamespace prints the counts and then a table of operations. -m prints one key on each line, as EOS does and its
// parsers expect, unlike other commands.
func printNamespace(e *cli.Env, n adminapi.NamespaceStats, ops []adminapi.OpStat) error {
	head := namespaceRecord(n, cli.Since(e.Now(), n.Booted))
	var records []output.Record
	for _, op := range ops {
		records = append(records, opRecord(op))
	}
	p := e.Printer()
	if p.Format == output.Monitor {
		var lines []output.Record // as in EOS: one key on each line
		for _, f := range append(head, absentInHemera()...) {
			lines = append(lines, append(everybody(), f))
		}
		return p.List(nil, append(lines, records...))
	}
	if p.Format != output.Table {
		return p.List(nil, append([]output.Record{head}, records...))
	}
	if err := p.Head(cli.ColumnsOf(head), head); err != nil {
		return err
	}
	fmt.Fprintln(e.Out)
	return p.List(opColumns, records)
}

// everybody begins a line about all users, because Hemera does not count by user. It returns a new record at each call,
// because callers append to it.
func everybody() output.Record {
	return output.Record{{Key: "uid", Value: "all"}, {Key: "gid", Value: "all"}}
}

// namespaceRecord makes the record of the counts, with EOS's keys where it has them. Times are in seconds.
func namespaceRecord(n adminapi.NamespaceStats, uptime float64) output.Record {
	return output.Record{
		{Key: "ns.total.files", Value: n.Totals.Files}, {Key: "ns.total.directories", Value: n.Totals.Dirs},
		{Key: "ns.total.bytes", Value: n.Totals.Bytes}, {Key: "ns.total.physical_bytes", Value: n.Totals.Physical},
		{Key: "ns.boot.status", Value: "booted"}, {Key: "ns.boot.time", Value: n.BootDuration.Seconds()}, {Key: "ns.uptime", Value: uptime}, // a manager that answers has booted
		{Key: "ns.next.id", Value: uint64(n.NextID)}, {Key: "ns.epoch", Value: n.Epoch}, {Key: "ns.sequence", Value: n.Sequence}, // the id that the next entry gets
		{Key: "ns.cache.files.occupancy", Value: n.CacheBytes}, {Key: "ns.cache.files.maxsize", Value: n.CacheMax}, // bytes, not entries as in EOS
		{Key: "ns.cache.files.requests", Value: n.CacheHits + n.CacheMisses}, {Key: "ns.cache.files.hits", Value: n.CacheHits},
		{Key: "ns.store.bytes", Value: n.StoreBytes},
		{Key: "ns.store.cache_bytes", Value: n.StoreCacheBytes}, {Key: "ns.store.cache_bytes_max", Value: n.StoreCacheMax},
		{Key: "ns.pending.writes", Value: n.Pending}, {Key: "ns.unlinked.pieces", Value: n.Unlinked}, // unlinked pieces are still to be removed from disks
		{Key: "ns.held.pieces", Value: n.Held}, {Key: "ns.held.bytes", Value: n.HeldBytes}, // of replaced and removed content
		{Key: "ns.recycled.files", Value: n.Recycled.Files}, {Key: "ns.recycled.bytes", Value: n.Recycled.Bytes}, // in recycle bins
		{Key: "ns.memory.resident", Value: n.RSS}, {Key: "ns.memory.virtual", Value: n.VSize}, {Key: "ns.memory.share", Value: n.Shared}, {Key: "ns.memory.growth", Value: n.Growth}, // of the manager's process, in bytes
		{Key: "ns.stat.threads", Value: n.Threads}, {Key: "ns.stat.goroutines", Value: n.Goroutines}, {Key: "ns.fds.all", Value: n.Descriptors},
		{Key: "ns.backup.last", Value: cli.Unix(n.LastBackup)}, // 0 if there was none
	}
}

// absentInHemera returns keys of EOS for things that Hemera does not have, with the value 0, for tools of EOS that expect
// them.
func absentInHemera() (r output.Record) {
	for _, key := range []string{
		"ns.boot.file.time", "ns.cache.containers.occupancy", "ns.cache.containers.maxsize", "ns.cache.containers.requests", "ns.cache.containers.hits",
		"ns.fusex.activeclients", "ns.fusex.caps", "ns.fusex.clients", "ns.fusex.lockedclients", "ns.hanging.since",
		"ns.latency.dirs", "ns.latency.files", "ns.latency.pending.updates",
		"ns.latencypeak.eosviewmutex.last", "ns.latencypeak.eosviewmutex.1min", "ns.latencypeak.eosviewmutex.2min", "ns.latencypeak.eosviewmutex.5min",
		"ns.qclient.rtt_ms.min", "ns.qclient.rtt_ms.avg", "ns.qclient.rtt_ms.max",
		"ns.qclient.rtt_ms_peak.1min", "ns.qclient.rtt_ms_peak.2min", "ns.qclient.rtt_ms_peak.5min",
		"ns.total.directories.changelog.avg_entry_size", "ns.total.directories.changelog.size",
		"ns.total.files.changelog.avg_entry_size", "ns.total.files.changelog.size",
	} {
		r = append(r, output.Field{Key: key, Value: 0})
	}
	return r
}

// opRecord makes the record of an operation. Latencies are in milliseconds, rates are operations a second.
func opRecord(op adminapi.OpStat) output.Record {
	return append(everybody(), output.Record{
		{Key: "cmd", Value: op.Name}, {Key: "total", Value: op.Count}, {Key: "errors", Value: op.Errors}, // total and errors since the manager started
		{Key: "5s", Value: op.Rate5s}, {Key: "60s", Value: op.Rate1m}, {Key: "300s", Value: op.Rate5m}, {Key: "3600s", Value: op.Rate1h}, // over four windows
		{Key: "exec", Value: 1e3 * op.P50.Seconds()}, {Key: "execsig", Value: 1e3 * op.Sigma.Seconds()}, {Key: "exec99", Value: 1e3 * op.P99.Seconds()}, // the median and the standard deviation
		{Key: "exec999", Value: 1e3 * op.P999.Seconds()}, {Key: "execmax", Value: 1e3 * op.Max.Seconds()},
	}...)
}

// opColumns has the columns of operations. Columns with a time as title are rates over that time.
var opColumns = []output.Column{
	{Title: "who", Key: "uid"},       // always all
	{Title: "command", Key: "cmd"},   // the operation
	{Title: "sum", Key: "total"},     // since the manager started
	{Title: "errors", Key: "errors"}, // those of total that failed
	{Title: "5s", Key: "5s"},         // operations a second
	{Title: "1min", Key: "60s"},
	{Title: "5min", Key: "300s"},
	{Title: "1h", Key: "3600s"},
	{Title: "exec(ms)", Key: "exec", Show: output.Digits(3)}, // the median
	{Title: "99p", Key: "exec99", Show: output.Digits(3)},    // milliseconds, as the next two
	{Title: "99.9p", Key: "exec999", Show: output.Digits(3)},
	{Title: "max", Key: "execmax", Show: output.Digits(3)}, // of the last operations
}
