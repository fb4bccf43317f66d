package load

import (
	"slices"

	"hemera/measure/result"
)

// figures returns the plots of the level: for each load the throughput or the rate over the clients, and latencies; one
// for the fraction of the peak.
func (o *Options) figures() (all []result.Figure) {
	titles := map[string]string{
		"write": "Sequential writes, a file per client", "read": "Sequential reads, a file per client", "put": "Copies into the target",
		"get": "Copies from the target", Random: "Random reads", Vector: "Vector reads", Mixed: "Reads and writes at the same time",
		"create": "Small files made", "open": "Small files opened and read",
	}
	// Each figure has one load: lines of different loads have no common axis.
	group := []string{"layout"}
	// The phases define the loads, and which of them have a peak.
	for _, p := range o.phases("", 0) {
		if p.name == "" || p.entries {
			continue
		}
		where := result.Labels{"load": p.name}
		// Small requests are compared by their number.
		names := []string{"throughput"}
		if slices.Contains([]string{Random, Vector, "create", "open"}, p.name) {
			names = []string{"rate"}
		}
		// Throughput or rate, then latencies.
		all = append(all,
			result.Figure{ID: "io-" + p.name, Title: titles[p.name], Kind: result.Lines, Names: names, Where: where, X: "clients", XTitle: "clients",
				Group: group, Peak: p.peak, Caption: "All clients together. Every byte that was read is compared with what was written."},
			result.Figure{ID: "io-" + p.name + "-latency", Title: titles[p.name] + ": latency", Kind: result.Lines,
				Names: []string{"latency_p50", "latency_p95", "latency_p99"}, Where: where, X: "clients", XTitle: "clients", Group: group,
				Caption: "Of one operation: a transfer of sequential and mixed loads, a whole file of copies and small files, a request of random and vector reads."})
		// Only a named peak can be drawn.
		if p.peak && len(o.Nodes) > 0 {
			all = append(all, result.Figure{ID: "io-" + p.name + "-efficiency", Title: titles[p.name] + ": share of the theoretical peak", Kind: result.Lines,
				Names: []string{"efficiency"}, Where: where, X: "clients", XTitle: "clients", Group: group,
				Caption: "The peak is the sum over the nodes of the smaller of network and disks, divided by what is stored for each byte written."})
		}
		all = append(all, result.Figure{ID: "io-" + p.name + "-cpu", Title: titles[p.name] + ": processor time for 1 GB", Kind: result.Lines,
			Names: []string{"cpu_clients_per_gb", "cpu_servers_per_gb"}, Where: where, X: "clients", XTitle: "clients", Group: group,
			Caption: "Of the clients, which make and compare the data, and of the servers named with --pid."})
	}
	// Entries have only rates, and are compared with each other.
	if o.wants(Metadata) {
		all = append(all, metadataFigures()...)
	}
	return all
}

// metadataFigures returns the plots of the load Metadata: all phases in one, like mdtest's table.
func metadataFigures() []result.Figure {
	// The label pattern excludes the rates of other loads.
	where, group := result.Labels{"pattern": mdtest}, []string{"layout", "clients"}
	return []result.Figure{
		{ID: "io-metadata", Title: "Entries of the namespace (mdtest)", Kind: result.Bars, Names: []string{"rate"}, Where: where, X: "load", Group: group,
			Caption: "Operations a second of all clients together. Each client looks at the entries of another."},
		{ID: "io-metadata-latency", Title: "Entries of the namespace (mdtest): latency", Kind: result.Bars, Names: []string{"latency_p50", "latency_p99"},
			Where: where, X: "load", Group: group, Caption: "Of one operation."},
	}
}
