package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hemera/words/hemera"
)

// metric describes a metric and sends its values. Histograms do not use kind.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// gauge describes a metric that may fall.
func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("hemera_"+name, help, labels, nil), prometheus.GaugeValue}
}

// counter describes a metric that only grows while the process lives.
func counter(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("hemera_"+name, help, labels, nil), prometheus.CounterValue}
}

// histogram describes a metric with the classes of [hemera.Latency].
func histogram(name, help string, labels ...string) metric {
	return metric{desc: prometheus.NewDesc("hemera_"+name, help, labels, nil)}
}

// diskLabels returns the labels that name a disk in every metric, and more.
func diskLabels(more ...string) []string { return append([]string{"disk", "host", "path"}, more...) }

// observe sends a histogram. Buckets of Prometheus are cumulative; the last class has no bound, and is only in the count.
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

// send sends one sample. labels has the values in the order of the description.
func (m metric) send(ch chan<- prometheus.Metric, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

var (
	// Names and labels are API: dashboards and alarms depend on them. Units are those of Prometheus: bytes, seconds,
	// ratios from 0 to 1.
	mBuild = gauge("build_info", "Always 1; the labels tell what runs.", "version", "commit", "go", "arch", "role")
	mUp    = gauge("part_up", "Whether a part answered this scrape.", "part")

	mPanics = counter("manager_panics_total", "Work that failed by a defect of the program.")

	// Operations of the manager since its start, by name.
	mOpCount   = counter("operations_total", "Operations done, failed ones included.", "op")
	mOpErrors  = counter("operation_errors_total", "Operations that failed.", "op")
	mOpLatency = histogram("operation_latency_seconds", "How long the server's part of operations took.", "op")

	// Disks, as measured by their nodes at the last heartbeat. Counters begin again when a node starts.
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

	// Losses that nodes count in their traffic with each other, and the conclusions.
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

// number returns 1 for true and 0 for false.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds returns a time in seconds since 1970; 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
