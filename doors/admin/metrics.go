package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hemera/words/hemera"
)

// scrapeTimeout bounds what one scrape may wait for the services.
// It is shorter than the 10 s that Prometheus waits by default, so that a part that does not answer costs its own
// metrics only.
const scrapeTimeout = 5 * time.Second

// metrics serves what the services know at the moment of the scrape; nothing is counted here.
func (d *door) metrics() http.Handler { return exposition(scrape{d}) }

// exposition serves what the collector has, and what is known of any Go process.
// At most four scrapes run at a time; more are refused with 503. A collector that fails leaves out its own samples.
func exposition(c prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), c)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError})
}

// scrape is a prometheus.Collector of the whole cluster.
type scrape struct{ d *door }

// metric is a description with the way to send one value of it.
// kind is not used by histograms.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// gauge describes a metric that goes up and down.
func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("hemera_"+name, help, labels, nil), prometheus.GaugeValue}
}

// counter describes a metric that only grows while the process lives.
func counter(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("hemera_"+name, help, labels, nil), prometheus.CounterValue}
}

// histogram is a metric whose classes are those of [hemera.Latency].
func histogram(name, help string, labels ...string) metric {
	return metric{desc: prometheus.NewDesc("hemera_"+name, help, labels, nil)}
}

// diskLabels are the labels by which every metric of a disk names it, and more.
func diskLabels(more ...string) []string { return append([]string{"disk", "host", "path"}, more...) }

// observe sends a histogram.
// Buckets of Prometheus are cumulative; the last class has no bound, and is in the count alone.
func (m metric) observe(ch chan<- prometheus.Metric, l hemera.Latency, labels ...string) {
	buckets := map[float64]uint64{}
	var below uint64
	for class, n := range l.Counts {
		below += uint64(n)
		if class < hemera.LatencyClasses-1 {
			buckets[hemera.LatencyBound(class).Seconds()] = below
		}
	}
	ch <- prometheus.MustNewConstHistogram(m.desc, below, l.Sum.Seconds(), buckets, labels...)
}

// send sends one sample. labels are values, in the order of the description.
func (m metric) send(ch chan<- prometheus.Metric, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

var (
	// Names and labels are API: dashboards and alarms depend on them. Units are those of Prometheus: bytes,
	// seconds, ratios from 0 to 1.
	mBuild = gauge("build_info", "Always 1; the labels tell what runs.", "version", "commit", "go", "arch", "role")
	mUp    = gauge("part_up", "Whether a part answered this scrape.", "part")

	mPanics = counter("manager_panics_total", "Work that failed by a defect of the program.")

	// Operations of the manager since its start, by name.
	mOpCount   = counter("operations_total", "Operations done, failed ones included.", "op")
	mOpErrors  = counter("operation_errors_total", "Operations that failed.", "op")
	mOpLatency = histogram("operation_latency_seconds", "How long the server's part of operations took.", "op")

	// Disks, as their nodes measured them at the last heartbeat. Counters begin again when a node starts.
	mDiskCapacity = gauge("disk_capacity_bytes", "Size of the filesystem.", diskLabels("node", "space")...)
	mDiskUsed     = gauge("disk_used_bytes", "Used on the filesystem.", diskLabels("node", "space")...)
	mDiskFree     = gauge("disk_free_bytes", "What may still be written, headroom taken off.", diskLabels("node", "space")...)
	mDiskPieces   = gauge("disk_pieces", "Sealed pieces.", diskLabels("node", "space")...)
	mDiskHeld     = gauge("disk_held_pieces", "Pieces of replaced and removed content that stay for readers.", diskLabels("node", "space")...)
	mDiskHeldSize = gauge("disk_held_bytes", "Bytes of pieces that stay for readers.", diskLabels("node", "space")...)
	mDiskReadable = gauge("disk_readable", "1 if reads may be sent there.", diskLabels("node", "space")...)
	mDiskWritable = gauge("disk_writable", "1 if new pieces may be placed there.", diskLabels("node", "space")...)
	mDiskHealth   = gauge("disk_health", "1 for the state the disk is in.", diskLabels("health", "configstatus")...)
	mDiskRead     = gauge("disk_read_bytes_per_second", "Read rate over the last heartbeat.", diskLabels()...)
	mDiskWrite    = gauge("disk_write_bytes_per_second", "Write rate over the last heartbeat.", diskLabels()...)
	mDiskBusy     = gauge("disk_busy_ratio", "Share of the time the device was busy.", diskLabels()...)
	mDiskAudit    = gauge("disk_last_audit_timestamp_seconds", "When the disk was last compared with the namespace; 0: never.", diskLabels()...)
	mDiskScrub    = gauge("disk_last_scrub_timestamp_seconds", "When all data of the disk had been read and verified; 0: never.", diskLabels()...)
	mDiskSums     = counter("disk_checksum_errors_total", "Pages whose checksum did not match, since the node started or they were cleared.", diskLabels()...)
	mDiskIO       = counter("disk_io_errors_total", "I/O errors since the node started or they were cleared.", diskLabels()...)

	mDiskLatency = histogram("disk_latency_seconds", "How long calls to the disk's filesystem took, since its node started.", diskLabels("call")...)

	// Nodes and their network interfaces.
	mNodeUp     = gauge("node_up", "1 if the node's heartbeats come.", "node", "addr")
	mNodeAge    = gauge("node_heartbeat_age_seconds", "Since the last heartbeat.", "node", "addr")
	mNodeCPU    = counter("node_cpu_seconds_total", "Processor time the node used.", "node", "addr")
	mNodeRSS    = gauge("node_resident_bytes", "Resident memory of the node.", "node", "addr")
	mNetIn      = gauge("node_net_in_bytes_per_second", "Received over the last heartbeat.", "node", "interface")
	mNetOut     = gauge("node_net_out_bytes_per_second", "Sent over the last heartbeat.", "node", "interface")
	mNetInErrs  = counter("node_net_in_errors_total", "Receive errors of the interface.", "node", "interface")
	mNetOutErrs = counter("node_net_out_errors_total", "Send errors of the interface.", "node", "interface")
	mNetInDrops = counter("node_net_in_drops_total", "Packets received and dropped.", "node", "interface")

	// What nodes count of each other, and what follows from it.
	mNetStanding = gauge("node_network", "1 for what is known of the node's network: unknown, well or suspected, and the cause.", "node", "addr", "standing", "cause")
	mNetWeight   = gauge("node_network_weight", "Share of its usual part that the node gets of new pieces and of readers.", "node", "addr")
	mNetSegments = gauge("node_network_segments", "TCP segments in the last minutes, by direction as the node sees it.", "node", "addr", "direction")
	mNetLost     = gauge("node_network_lost_segments", "Of them, those that were lost.", "node", "addr", "direction")
	mNetRTT      = gauge("node_network_rtt_seconds", "Mean round trip to other nodes.", "node", "addr")

	// The namespace and its store.
	mFiles    = gauge("namespace_files", "Committed files.")
	mDirs     = gauge("namespace_directories", "Directories, the root not included.")
	mBytes    = gauge("namespace_bytes", "Logical bytes of all files.")
	mPhysical = gauge("namespace_physical_bytes", "Bytes of all pieces.")
	mCache    = gauge("namespace_cache_bytes", "Bytes the cache holds.")
	mHits     = counter("namespace_cache_hits_total", "Cache hits.")
	mMisses   = counter("namespace_cache_misses_total", "Cache misses.")
	mStore    = gauge("namespace_store_bytes", "Bytes of the store on disk.")
	mSequence = counter("namespace_changes_total", "Changes of the namespace committed since it was made.")
	mPending  = gauge("namespace_pending_writes", "Writes begun and not committed.")
	mUnlinked = gauge("namespace_unlinked_pieces", "Pieces that disks are to remove, held ones included.")
	mHeld     = gauge("namespace_held_pieces", "Pieces of replaced and removed content that stay for readers.")
	mHeldSize = gauge("namespace_held_bytes", "Bytes of pieces that stay for readers.")

	mRecycled     = gauge("namespace_recycled_files", "Files in recycle bins, which are no part of the tree.")
	mRecycledSize = gauge("namespace_recycled_bytes", "Bytes of their content.")

	// The health of the cluster, as hemera status shows it.
	mHealth     = gauge("cluster_health", "0 when all is well, 1 with warnings, 2 with errors.")
	mCondition  = gauge("condition", "How many things are meant by a condition that hemera status shows; docs/operations.md lists the codes.", "code", "severity", "subject")
	mLost       = gauge("files_lost", "Files that have too few good pieces on disks of the cluster to be read ever again.")
	mUnreadable = gauge("files_unreadable", "Files that cannot be read now, with pieces on disks that are away, or on tapes alone that cannot be read.")
	mIncomplete = gauge("files_incomplete", "Files that can be read and have fewer pieces than their layout asks for.")
	mDegraded   = gauge("files_degraded", "Files that can be read and have pieces on disks that cannot.")
	mFrail      = gauge("files_frail", "Degraded and incomplete files that cannot be read any more once one more piece is gone.")

	// Clients, and background work that has not ended.
	mSessions    = gauge("sessions", "Client connections at the manager.")
	mJobLeft     = gauge("job_left_bytes", "Bytes a drain or repair has still to move.", diskLabels("kind", "state")...)
	mJobRate     = gauge("job_bytes_per_second", "Rate of a drain or repair now.", diskLabels("kind", "state")...)
	mBalanceLeft = gauge("balance_left_bytes", "Bytes that balancing has still to move.", "space")
	mBalanceRate = gauge("balance_bytes_per_second", "Rate of balancing now.", "space")
	mJobFail     = gauge("job_failed_files", "Files a drain or repair failed at.", diskLabels("kind", "state")...)
)

// Describe sends nothing: which metrics there are depends on which services are there.
func (scrape) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. A part that fails is left out and shows as part_up 0.
// Prometheus may call it from several goroutines. The view is asked once and used for all parts, so that a disk has
// the same labels everywhere.
func (s scrape) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(hemera.WithTrace(context.Background(), hemera.NewTraceID()), scrapeTimeout)
	defer cancel()
	view := &hemera.View{}
	v := s.d.Version
	mBuild.send(ch, 1, v.Version, v.Commit, v.Go, v.Arch, v.Role)
	mPanics.send(ch, float64(s.d.Panics.Count()))
	if s.d.Limits != nil {
		sendLimits(ch, s.d.Limits())
	}
	if s.d.Cluster != nil {
		now, err := s.d.Cluster.View(ctx)
		s.report(ctx, ch, "cluster", err)
		if err == nil {
			view = now
			sendDisks(ch, view)
			sendNodes(ch, view.Nodes, time.Now())
		}
	}
	if s.d.Observe != nil {
		s.report(ctx, ch, "observe", sendObserved(ctx, ch, s.d.Observe))
	}
	if s.d.Status != nil {
		status, err := s.d.Status.Status(ctx)
		s.report(ctx, ch, "status", err)
		if err == nil {
			sendStatus(ch, status)
		}
		network, err := s.d.Status.Network(ctx)
		s.report(ctx, ch, "network", err)
		sendNetwork(ch, network)
	}
	// One picture: the same that hemera tape status shows.
	if s.d.Tape != nil {
		s.report(ctx, ch, "tape", sendTape(ctx, ch, s.d.Tape))
	}
	if s.d.Maint != nil {
		jobs, err := s.d.Maint.Jobs(ctx)
		s.report(ctx, ch, "maint", err)
		sendJobs(ch, view, jobs)
	}
}

// report sends a sample that says that a part of the scrape failed, and logs the error: a scrape always answers.
func (s scrape) report(ctx context.Context, ch chan<- prometheus.Metric, part string, err error) {
	if err != nil {
		s.d.Log.WarnContext(ctx, "scrape", "part", part, "error", err, "trace", hemera.TraceID(ctx))
	}
	mUp.send(ch, number(err == nil), part)
}

// number is 1 or 0.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// named is the values of [diskLabels]. Disk 0 stands for files that lack pieces, wherever they are: it has
// no name. A disk that was removed has its number only.
func named(v *hemera.View, id hemera.DiskID, more ...string) []string {
	names := []string{"", "", ""}
	if id != 0 {
		d, _ := v.Disk(id)
		n, _ := v.Node(d.Node)
		host := n.Host()
		names = []string{id.String(), host, d.Path}
	}
	return append(names, more...)
}

// sendDisks sends the state, room and rates of each disk.
func sendDisks(ch chan<- prometheus.Metric, v *hemera.View) {
	for _, d := range v.Disks {
		where := named(v, d.ID, d.Node.String(), d.Space)
		mDiskCapacity.send(ch, float64(d.Capacity), where...)
		mDiskUsed.send(ch, float64(d.Used), where...)
		mDiskFree.send(ch, float64(d.Free), where...)
		mDiskPieces.send(ch, float64(d.Pieces), where...)
		mDiskHeld.send(ch, float64(d.Held), where...)
		mDiskHeldSize.send(ch, float64(d.HeldBytes), where...)
		mDiskReadable.send(ch, number(d.Readable()), where...)
		mDiskWritable.send(ch, number(d.Writable()), where...)
		mDiskHealth.send(ch, 1, named(v, d.ID, string(d.Health), string(d.Config))...)
		where = named(v, d.ID)
		mDiskRead.send(ch, float64(d.Load.ReadBytes), where...)
		mDiskWrite.send(ch, float64(d.Load.WriteBytes), where...)
		mDiskBusy.send(ch, d.Load.Busy, where...)
		mDiskAudit.send(ch, seconds(d.LastAudit), where...)
		mDiskScrub.send(ch, seconds(d.LastScrub), where...)
		mDiskSums.send(ch, float64(d.Load.ChecksumErrors), where...)
		mDiskIO.send(ch, float64(d.Load.IOErrors), where...)
		for call, l := range map[string]hemera.Latency{"read": d.Load.Read, "write": d.Load.Write, "sync": d.Load.Sync} {
			if len(l.Counts) > 0 {
				mDiskLatency.observe(ch, l, named(v, d.ID, call)...)
			}
		}
	}
}

// sendNodes sends the state of each node and what it measures of itself.
// A node without a heartbeat has no age: its zero time would be an age of centuries.
// A clock that went back gives 0.
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

// sendObserved sends counts, rates and latencies of the manager.
func sendObserved(ctx context.Context, ch chan<- prometheus.Metric, o hemera.Observer) error {
	ops, err := o.Operations(ctx)
	if err != nil {
		return err
	}
	for _, op := range ops {
		mOpCount.send(ch, float64(op.Count), op.Name)
		mOpErrors.send(ch, float64(op.Errors), op.Name)
		mOpLatency.observe(ch, op.Latency, op.Name)
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
	mHeld.send(ch, float64(n.Held))
	mHeldSize.send(ch, float64(n.HeldBytes))
	mRecycled.send(ch, float64(n.Recycled.Files))
	mRecycledSize.send(ch, float64(n.Recycled.Bytes))
	return nil
}

// sendJobs shows what is under way; a disk can have had several finished jobs, which would clash.
func sendJobs(ch chan<- prometheus.Metric, v *hemera.View, jobs []hemera.JobStatus) {
	for _, j := range summed(jobs) {
		if j.Over() {
			continue
		}
		if j.Space != "" {
			mBalanceLeft.send(ch, float64(j.BytesLeft), j.Space)
			mBalanceRate.send(ch, j.Rate, j.Space)
			continue
		}
		labels := named(v, j.Disk, j.Kind, j.State)
		mJobLeft.send(ch, float64(j.BytesLeft), labels...)
		mJobRate.send(ch, j.Rate, labels...)
		mJobFail.send(ch, float64(j.Failed), labels...)
	}
}

// summed adds up the jobs of trees that are in the same state. They have no disk to tell them apart, and a metric may
// not be there twice.
func summed(jobs []hemera.JobStatus) (out []hemera.JobStatus) {
	for _, j := range jobs {
		i := slices.IndexFunc(out, func(o hemera.JobStatus) bool {
			return o.Path != "" && j.Path != "" && o.Kind == j.Kind && o.State == j.State
		})
		if i < 0 {
			out = append(out, j)
			continue
		}
		out[i].BytesLeft, out[i].Rate, out[i].Failed = out[i].BytesLeft+j.BytesLeft, out[i].Rate+j.Rate, out[i].Failed+j.Failed
	}
	return out
}

// seconds is a time as metrics have it; 0 for none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
