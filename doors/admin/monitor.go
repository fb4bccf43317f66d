package admin

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"hemera/words/adminapi"
)

// Counter is a value that only grows while the process runs. Its metric is hemera_node_<Name>. Name follows Prometheus:
// lower case, with _total at its end.
type Counter struct {
	Name, Help string
	Value      int64
}

// MonitorOptions has the values that a process without the admin API exports.
type MonitorOptions struct {
	Version adminapi.VersionInfo
	// Counters is called once for each scrape; names and texts must not change.
	Counters func() []Counter
	// Limits returns the bounds of the process; nil for none.
	Limits func() []Limit
	Log    *slog.Logger
}

// NewMonitor makes a handler that answers /metrics and /healthz only. It is safe for concurrent use. It has no verbs and
// identifies no senders; the caller decides which hosts may reach /metrics.
func NewMonitor(o MonitorOptions) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &door{Services: Services{Version: o.Version, Log: o.Log}, mux: http.NewServeMux()}
	d.mux.Handle("GET /metrics", exposition(monitor{o}))
	d.mux.HandleFunc("GET /healthz", d.health)
	return d.traced(d.mux)
}

// monitor is a prometheus.Collector of one process.
type monitor struct{ o MonitorOptions }

// Describe sends nothing: the counters depend on the process.
func (monitor) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m monitor) Collect(ch chan<- prometheus.Metric) {
	v := m.o.Version
	mBuild.send(ch, 1, v.Version, v.Commit, v.Go, v.Arch, v.Role)
	if m.o.Limits != nil {
		sendLimits(ch, m.o.Limits())
	}
	for _, c := range m.o.Counters() {
		counter("node_"+c.Name, c.Help).send(ch, float64(c.Value))
	}
}
