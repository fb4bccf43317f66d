package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hemera"
)

// scrapeTimeout bounds what one scrape may wait for the services.
const scrapeTimeout = 5 * time.Second

// metrics serves what the services know at the moment of the scrape; nothing is counted here.
func (d *door) metrics() http.Handler { return exposition(scrape{d}) }

// exposition serves what the collector has, and what is known of any Go process.
func exposition(c prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), c)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError})
}

// scrape is a prometheus.Collector of the whole cluster.
type scrape struct{ d *door }

// metric is a description with the way to send one value of it.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("hemera_"+name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("hemera_"+name, help, labels, nil), prometheus.CounterValue}
}

func (m metric) send(ch chan<- prometheus.Metric, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

var (
	mBuild = gauge("build_info", "Always 1; the labels tell what runs.", "version", "commit", "go", "arch", "role")
	mUp    = gauge("part_up", "Whether a part answered this scrape.", "part")

	mOpCount   = counter("operations_total", "Operations done, failed ones included.", "op")
	mOpErrors  = counter("operation_errors_total", "Operations that failed.", "op")
	mOpLatency = gauge("operation_latency_seconds", "Latency of the server's part since it started; quantile 1 is the maximum.", "op", "quantile")

	mDiskCapacity = gauge("disk_capacity_bytes", "Size of the filesystem.", "disk", "node", "space")
	mDiskUsed     = gauge("disk_used_bytes", "Used on the filesystem.", "disk", "node", "space")
	mDiskFree     = gauge("disk_free_bytes", "What may still be written, headroom taken off.", "disk", "node", "space")
	mDiskPieces   = gauge("disk_pieces", "Sealed pieces.", "disk", "node", "space")
	mDiskReadable = gauge("disk_readable", "1 if reads may be sent there.", "disk", "node", "space")
	mDiskWritable = gauge("disk_writable", "1 if new pieces may be placed there.", "disk", "node", "space")
	mDiskHealth   = gauge("disk_health", "1 for the state the disk is in.", "disk", "health", "configstatus")
	mDiskRead     = gauge("disk_read_bytes_per_second", "Read rate over the last heartbeat.", "disk")
	mDiskWrite    = gauge("disk_write_bytes_per_second", "Write rate over the last heartbeat.", "disk")
	mDiskBusy     = gauge("disk_busy_ratio", "Share of the time the device was busy.", "disk")
	mDiskSums     = counter("disk_checksum_errors_total", "Pages whose checksum did not match, since the node started.", "disk")
	mDiskIO       = counter("disk_io_errors_total", "I/O errors since the node started.", "disk")

	mNodeUp     = gauge("node_up", "1 if the node's heartbeats come.", "node", "addr")
	mNodeAge    = gauge("node_heartbeat_age_seconds", "Since the last heartbeat.", "node", "addr")
	mNodeCPU    = counter("node_cpu_seconds_total", "Processor time the node used.", "node", "addr")
	mNodeRSS    = gauge("node_resident_bytes", "Resident memory of the node.", "node", "addr")
	mNetIn      = gauge("node_net_in_bytes_per_second", "Received over the last heartbeat.", "node", "interface")
	mNetOut     = gauge("node_net_out_bytes_per_second", "Sent over the last heartbeat.", "node", "interface")
	mNetInErrs  = counter("node_net_in_errors_total", "Receive errors of the interface.", "node", "interface")
	mNetOutErrs = counter("node_net_out_errors_total", "Send errors of the interface.", "node", "interface")
	mNetInDrops = counter("node_net_in_drops_total", "Packets received and dropped.", "node", "interface")

	mFiles    = gauge("namespace_files", "Committed files.")
	mDirs     = gauge("namespace_directories", "Directories, the root not included.")
	mBytes    = gauge("namespace_bytes", "Logical bytes of all files.")
	mPhysical = gauge("namespace_physical_bytes", "Bytes of all pieces.")
	mCache    = gauge("namespace_cache_bytes", "Bytes the cache holds.")
	mHits     = counter("namespace_cache_hits_total", "Cache hits.")
	mMisses   = counter("namespace_cache_misses_total", "Cache misses.")
	mStore    = gauge("namespace_store_bytes", "Bytes of the store on disk.")
	mSequence = counter("namespace_sequence", "Sequence number of the last commit.")
	mPending  = gauge("namespace_pending_writes", "Writes begun and not committed.")
	mUnlinked = gauge("namespace_unlinked_pieces", "Pieces waiting for their disk to remove them.")

	mSessions = gauge("sessions", "Client connections at the manager.")
	mJobLeft  = gauge("job_left_bytes", "Bytes a drain or repair has still to move.", "kind", "disk", "state")
	mJobRate  = gauge("job_bytes_per_second", "Rate of a drain or repair now.", "kind", "disk", "state")
	mJobFail  = gauge("job_failed_files", "Files a drain or repair failed at.", "kind", "disk", "state")
)

// Describe sends nothing: which metrics there are depends on which services are there.
func (scrape) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. A part that fails is left out and shows as part_up 0.
func (s scrape) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(hemera.WithTrace(context.Background(), hemera.NewTraceID()), scrapeTimeout)
	defer cancel()
	v := s.d.Version
	mBuild.send(ch, 1, v.Version, v.Commit, v.Go, v.Arch, v.Role)
	if s.d.Limits != nil {
		sendLimits(ch, s.d.Limits())
	}
	if s.d.Cluster != nil {
		view, err := s.d.Cluster.View(ctx)
		s.report(ctx, ch, "cluster", err)
		if err == nil {
			sendDisks(ch, view.Disks)
			sendNodes(ch, view.Nodes, time.Now())
		}
	}
	if s.d.Observe != nil {
		s.report(ctx, ch, "observe", sendObserved(ctx, ch, s.d.Observe))
	}
	if s.d.Maint != nil {
		jobs, err := s.d.Maint.Jobs(ctx)
		s.report(ctx, ch, "maint", err)
		sendJobs(ch, jobs)
	}
}

func (s scrape) report(ctx context.Context, ch chan<- prometheus.Metric, part string, err error) {
	if err != nil {
		s.d.Log.WarnContext(ctx, "scrape", "part", part, "error", err, "trace", hemera.TraceID(ctx))
	}
	mUp.send(ch, number(err == nil), part)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sendDisks(ch chan<- prometheus.Metric, disks []hemera.Disk) {
	for _, d := range disks {
		id, node := d.ID.String(), d.Node.String()
		mDiskCapacity.send(ch, float64(d.Capacity), id, node, d.Space)
		mDiskUsed.send(ch, float64(d.Used), id, node, d.Space)
		mDiskFree.send(ch, float64(d.Free), id, node, d.Space)
		mDiskPieces.send(ch, float64(d.Pieces), id, node, d.Space)
		mDiskReadable.send(ch, number(d.Readable()), id, node, d.Space)
		mDiskWritable.send(ch, number(d.Writable()), id, node, d.Space)
		mDiskHealth.send(ch, 1, id, string(d.Health), string(d.Config))
		mDiskRead.send(ch, float64(d.Load.ReadBytes), id)
		mDiskWrite.send(ch, float64(d.Load.WriteBytes), id)
		mDiskBusy.send(ch, d.Load.Busy, id)
		mDiskSums.send(ch, float64(d.Load.ChecksumErrors), id)
		mDiskIO.send(ch, float64(d.Load.IOErrors), id)
	}
}

func sendNodes(ch chan<- prometheus.Metric, nodes []hemera.NodeInfo, now time.Time) {
	for _, n := range nodes {
		id := n.ID.String()
		mNodeUp.send(ch, number(n.Status == hemera.NodeOnline), id, n.Addr)
		if !n.Heartbeat.IsZero() {
			mNodeAge.send(ch, max(0, now.Sub(n.Heartbeat).Seconds()), id, n.Addr)
		}
		mNodeCPU.send(ch, n.Stats.CPUSeconds, id, n.Addr)
		mNodeRSS.send(ch, float64(n.Stats.RSS), id, n.Addr)
		for _, i := range n.Stats.Net {
			mNetIn.send(ch, i.InRate, id, i.Name)
			mNetOut.send(ch, i.OutRate, id, i.Name)
			mNetInErrs.send(ch, float64(i.InErrors), id, i.Name)
			mNetOutErrs.send(ch, float64(i.OutErrors), id, i.Name)
			mNetInDrops.send(ch, float64(i.InDrops), id, i.Name)
		}
	}
}

func sendObserved(ctx context.Context, ch chan<- prometheus.Metric, o hemera.Observer) error {
	ops, err := o.Operations(ctx)
	if err != nil {
		return err
	}
	for _, op := range ops {
		mOpCount.send(ch, float64(op.Count), op.Name)
		mOpErrors.send(ch, float64(op.Errors), op.Name)
		mOpLatency.send(ch, op.P50.Seconds(), op.Name, "0.5")
		mOpLatency.send(ch, op.P99.Seconds(), op.Name, "0.99")
		mOpLatency.send(ch, op.P999.Seconds(), op.Name, "0.999")
		mOpLatency.send(ch, op.Max.Seconds(), op.Name, "1")
	}
	sessions, err := o.Sessions(ctx)
	if err != nil {
		return err
	}
	mSessions.send(ch, float64(len(sessions)))
	n, err := o.NamespaceStats(ctx)
	if err != nil {
		return err
	}
	mFiles.send(ch, float64(n.Totals.Files))
	mDirs.send(ch, float64(n.Totals.Dirs))
	mBytes.send(ch, float64(n.Totals.Bytes))
	mPhysical.send(ch, float64(n.Totals.Physical))
	mCache.send(ch, float64(n.CacheBytes))
	mHits.send(ch, float64(n.CacheHits))
	mMisses.send(ch, float64(n.CacheMisses))
	mStore.send(ch, float64(n.StoreBytes))
	mSequence.send(ch, float64(n.Sequence))
	mPending.send(ch, float64(n.Pending))
	mUnlinked.send(ch, float64(n.Unlinked))
	return nil
}

// sendJobs shows what is under way; a disk can have had several finished jobs, which would clash.
func sendJobs(ch chan<- prometheus.Metric, jobs []hemera.JobStatus) {
	for _, j := range jobs {
		if j.State == "done" {
			continue
		}
		labels := []string{j.Kind, j.Disk.String(), j.State}
		mJobLeft.send(ch, float64(j.BytesLeft), labels...)
		mJobRate.send(ch, j.Rate, labels...)
		mJobFail.send(ch, float64(j.Failed), labels...)
	}
}
