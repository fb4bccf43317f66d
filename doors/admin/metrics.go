package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// scrapeTimeout bounds the time that one scrape waits for the services. It is shorter than the 10 s of Prometheus, so
// that a part that does not answer loses only its own metrics.
const scrapeTimeout = 5 * time.Second

// metrics serves the metrics, which it gets from the services at each scrape.
func (d *door) metrics() http.Handler { return exposition(scrape{d}) }

// exposition serves the collector's metrics, and those of any Go process. At most four scrapes run at a time; more are
// refused with 503. A collector that fails leaves out its own samples.
func exposition(c prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), c)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError})
}

// scrape is a prometheus.Collector of the whole cluster.
type scrape struct{ d *door }

// Describe sends nothing: the metrics depend on the services of the process.
func (scrape) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. A part that fails is left out and has part_up 0. Prometheus may call it
// concurrently. The view is read once for all parts, so that a disk has the same labels everywhere.
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
	// One call gives all metrics of tapes, the same values as hemera tape status.
	if s.d.Tape != nil {
		s.report(ctx, ch, "tape", sendTape(ctx, ch, s.d.Tape))
	}
	if s.d.Maint != nil {
		jobs, err := s.d.Maint.Jobs(ctx)
		s.report(ctx, ch, "maint", err)
		sendJobs(ch, view, jobs)
	}
}

// report sends a sample that says whether a part of the scrape succeeded, and logs its error.
func (s scrape) report(ctx context.Context, ch chan<- prometheus.Metric, part string, err error) {
	if err != nil {
		s.d.Log.WarnContext(ctx, "scrape", "part", part, "error", err, "trace", hemera.TraceID(ctx))
	}
	mUp.send(ch, number(err == nil), part)
}

// named returns the values of [diskLabels]. Disk 0 stands for files with missing pieces and has no name. A removed disk
// has its number only.
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

// sendDisks sends the state, space and rates of each disk.
func sendDisks(ch chan<- prometheus.Metric, v *hemera.View) {
	for _, d := range v.Disks {
		where := named(v, d.ID, d.Node.String(), string(d.Space))
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

// sendNodes sends the state of each node and its own measurements. A node without a heartbeat has no age: its zero time
// would give an age of centuries. If the clock was set back the age is 0.
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
func sendObserved(ctx context.Context, ch chan<- prometheus.Metric, o adminapi.Observer) error {
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

// sendJobs sends the jobs that have not ended. A disk may have several ended jobs, whose samples would have equal labels.
func sendJobs(ch chan<- prometheus.Metric, v *hemera.View, jobs []adminapi.JobStatus) {
	for _, j := range summed(jobs) {
		if j.Over() {
			continue
		}
		if j.Space != "" {
			mBalanceLeft.send(ch, float64(j.BytesLeft), string(j.Space))
			mBalanceRate.send(ch, j.Rate, string(j.Space))
			continue
		}
		labels := named(v, j.Disk, string(j.Kind), string(j.State))
		mJobLeft.send(ch, float64(j.BytesLeft), labels...)
		mJobRate.send(ch, j.Rate, labels...)
		mJobFail.send(ch, float64(j.Failed), labels...)
	}
}

// summed adds up the jobs of trees with the same kind and state. They have no disk in their labels, and a metric must not
// have two samples with the same labels.
func summed(jobs []adminapi.JobStatus) (out []adminapi.JobStatus) {
	for _, j := range jobs {
		i := slices.IndexFunc(out, func(o adminapi.JobStatus) bool {
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
