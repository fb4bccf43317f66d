package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"hemera/client/xrootd"
	"hemera/measure/result"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// layoutDefault is the label of runs without a chosen layout.
const layoutDefault = "default"

// run is one run of the level. It belongs to the goroutine of Run.
type run struct {
	o           *Options
	rec         *result.Recorder
	done, total int  // steps, for progress
	chilled     bool // dropping was tried, and a failure is noted
}

// Run measures one target: every load with every number of clients and every layout, o.Iterations times each. It removes
// its files before it returns. Unusable options and a target that does not answer are errors; unsupported loads and
// layouts are skipped. Data that differs when it is read is an IO error.
func Run(ctx context.Context, o Options, rec *result.Recorder) error {
	if err := o.Check(); err != nil {
		return err
	}
	if len(o.Targets) != 1 {
		return errs.New(errs.Invalid, "load.Run", "", "it takes one target").WithRemedy("hemera bench interference takes several")
	}
	at, err := o.place(ctx, o.Targets[0])
	if err != nil {
		return err
	}
	o.describe(rec, at)
	r := &run{o: &o, rec: rec}
	if ready, err := r.drive(ctx, at); err != nil || !ready {
		return err
	}
	return r.at(ctx, at)
}

// at measures a target, and removes its files there.
func (r *run) at(ctx context.Context, at place) error {
	layouts := r.o.Layouts
	if len(layouts) == 0 {
		layouts = []string{layoutDefault}
	}
	r.total = len(layouts) * len(r.o.Clients) * r.o.Iterations * len(r.o.phases("", 0))
	for _, f := range r.o.figures() {
		r.rec.Figure(f)
	}
	g, err := newGroup(ctx, at, newName(), rand.Uint64())
	if err != nil {
		return err
	}
	for i, layout := range layouts {
		if err = r.layout(ctx, g, layout, fmt.Sprintf("%s/layout%d", g.dir, i)); err != nil {
			break
		}
	}
	return errors.Join(err, g.remove(ctx))
}

// newName returns a new name of a run's directory.
func newName() string { return fmt.Sprintf("hemera-bench-%08x", rand.Uint32()) }

// place returns the target with a name.
func (o *Options) place(ctx context.Context, name string) (place, error) {
	if !xrootd.IsRemote(name) {
		return directory{root: name, reads: o.ReadThrough, direct: o.Direct, sync: o.Sync}, nil
	}
	u, err := xrootd.ParseURL(name)
	if err != nil {
		return nil, err
	}
	return newServer(ctx, u, o.Sync)
}

// describe records the conditions of the run.
func (o *Options) describe(rec *result.Recorder, at place) {
	rec.Set("target", at.String())
	rec.Set("driver", o.Driver)
	rec.Set("loads", strings.Join(o.Loads, ","))
	for key, n := range map[string]int64{
		"files": int64(o.Files), "size": o.Size, "transfer": int64(o.Transfer), "block": int64(o.Block), "elements": int64(o.Elements),
		"small_files": int64(o.SmallFiles), "small_size": int64(o.SmallSize), "iterations": int64(o.Iterations),
	} {
		rec.Set(key, strconv.FormatInt(n, 10))
	}
	if o.ReadThrough != "" {
		rec.Set("read_through", o.ReadThrough)
	}
	rec.Set("direct", strconv.FormatBool(o.Direct))
	rec.Set("sync", strconv.FormatBool(o.Sync))
	if o.Layout != (hemera.Layout{}) {
		rec.Set("default_layout", o.Layout.String())
	}
	if s, ok := at.(*server); ok && !s.durable && o.Sync {
		rec.Note("This server does not make files durable at their close; a kXR_sync before it does.")
	}
}

// layout measures one layout in its own directory.
func (r *run) layout(ctx context.Context, g *group, layout, dir string) error {
	t, err := g.at.open(ctx)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := g.tree.mkdir(ctx, t, dir); err != nil {
		return err
	}
	if layout != layoutDefault {
		err := g.at.layout(ctx, dir, layout)
		if errors.Is(err, errs.Unsupported) {
			r.rec.Skip("layout "+layout, errs.Reason(err, ""), errs.RemedyOf(err))
			return nil
		}
		if err != nil {
			return err
		}
	}
	// Few clients first, so that an interrupted run has the beginning of the line.
	for _, n := range r.o.Clients {
		if err := r.clients(ctx, g, layout, dir, n); err != nil {
			return err
		}
	}
	return nil
}

// clients measures one number of clients.
func (r *run) clients(ctx context.Context, g *group, layout, dir string, n int) error {
	defer g.leave()
	// One buffer fits the largest request of any load.
	if err := g.join(ctx, n, max(r.o.Transfer, r.o.Block*r.o.Elements)); err != nil {
		return err
	}
	// These have their own clients, clocks and iterations.
	if r.o.Driver == DriverIOR || r.o.Driver == DriverMdtest {
		t := &tasks{run: r, group: g, dir: dir, n: n, labels: result.Labels{"clients": strconv.Itoa(n), "layout": layout}}
		return t.measure(ctx)
	}
	for i := range r.o.Iterations {
		// The number of clients is part of the content, so that files of an earlier number are not taken for these.
		for _, p := range r.o.phases(dir, n*r.o.Iterations+i) {
			labels := result.Labels{"clients": strconv.Itoa(n), "layout": layout}
			if err := r.phase(ctx, g, p, labels); err != nil {
				return err
			}
		}
		if err := g.removeFiles(ctx); err != nil {
			return err
		}
	}
	return nil
}

// phase measures one phase and adds its results.
func (r *run) phase(ctx context.Context, g *group, p phase, labels result.Labels) error {
	// A phase without a name prepares later ones, and is not measured.
	doing := p.name
	if doing == "" {
		doing = "files to read are written"
	}
	r.rec.Step(r.done, r.total, "%s clients, layout %s: %s", labels["clients"], labels["layout"], doing)
	r.done++
	// A client must not have the data that it reads: sessions and page cache are new.
	if p.cold {
		if err := g.reopen(ctx); err != nil {
			return err
		}
		r.chill()
	}
	end := r.rec.Iteration(labels) // also without a name: then it does not end
	got, spent, err := runPhase(ctx, []*group{g}, p, r.o.PIDs)
	switch {
	case errors.Is(err, errs.Unsupported):
		r.rec.Skip("load "+p.name, errs.Reason(err, ""), "")
		return nil
	case err != nil || p.name == "":
		return err
	}
	// The label comes last, because a skipped load has none.
	labels["load"] = p.name
	end(got[0].bytes(), got[0].operations)
	// Entries have no bytes: neither throughput nor time per gigabyte.
	if p.entries {
		labels["pattern"] = mdtest
		r.addRate(labels, got[0])
		r.addCostOfEach(labels, got[0].operations, spent)
		return nil
	}
	r.add(p, labels, got[0], spent)
	return nil
}

// chill drops the page cache of this machine, if the options ask for it and it is possible.
func (r *run) chill() {
	var err error
	if r.o.Drop {
		err = dropCaches()
	}
	if !r.chilled && (!r.o.Drop || err != nil) {
		r.rec.Note("The page cache was not dropped before reads: a server or file system on this machine may have read from memory.")
	}
	r.chilled = true
}

// add adds the measures of a phase.
func (r *run) add(p phase, labels result.Labels, got outcome, spent cost) {
	seconds := got.took.Seconds()
	put := func(name, unit string, better result.Better, value float64) result.Measure {
		return result.Measure{Name: name, Labels: labels, Unit: unit, Better: better, Samples: []float64{value}}
	}
	r.addThroughput(p, labels, float64(got.bytes())/seconds)
	// The sum of both directions, and each.
	if p.name == Mixed {
		r.rec.Add(put("throughput_read", "B/s", result.Higher, float64(got.read)/seconds))
		r.rec.Add(put("throughput_write", "B/s", result.Higher, float64(got.written)/seconds))
	}
	r.addRate(labels, got)
	r.addCost(labels, got.bytes(), spent)
}

// addThroughput adds a rate in B/s, with its peak and the fraction of it if the peak is known.
func (r *run) addThroughput(p phase, labels result.Labels, rate float64) {
	m := result.Measure{Name: "throughput", Labels: labels, Unit: "B/s", Better: result.Higher, Samples: []float64{rate}}
	// The peak is for sequential bytes: random places cost a disk more.
	if p.peak {
		layout := r.o.stores(labels["layout"])
		peak := Peak(r.o.Nodes, layout, p.write)
		m.Peak, m.PeakSD = peak.Mean, peak.SD
		if m.Peak > 0 {
			m.PeakFrom = peakFrom(r.o.Nodes, layout, p.write)
			r.rec.Add(result.Measure{Name: "efficiency", Labels: labels, Unit: "1", Better: result.Higher, Samples: []float64{rate / m.Peak}})
		}
	}
	r.rec.Add(m)
}

// stores returns the layout of a label. The default may be unknown: then each byte counts as stored once.
func (o *Options) stores(label string) hemera.Layout {
	if label == layoutDefault {
		return o.Layout
	}
	l, _ := hemera.ParseLayout(label, 0) // Check has parsed it
	return l
}

// addRate adds the operations a second of a phase, and their latencies.
func (r *run) addRate(labels result.Labels, got outcome) {
	put := func(name, unit string, better result.Better, value float64) {
		r.rec.Add(result.Measure{Name: name, Labels: labels, Unit: unit, Better: better, Samples: []float64{value}})
	}
	// By the clock of all clients, from the first start to the last end.
	put("rate", "1/s", result.Higher, float64(got.operations)/got.took.Seconds())
	for _, percent := range []float64{50, 95, 99} {
		if !result.Tells(got.operations, percent) {
			continue
		}
		put(fmt.Sprintf("latency_p%.0f", percent), "s", result.Lower, got.quantile(percent))
	}
}

// addCostOfEach adds the processor time of operations without bytes.
func (r *run) addCostOfEach(labels result.Labels, operations int64, spent cost) {
	put := func(name string, value time.Duration) {
		each := value.Seconds() / float64(operations)
		r.rec.Add(result.Measure{Name: name, Labels: labels, Unit: "s", Better: result.Lower, Samples: []float64{each}})
	}
	put("cpu_clients_per_operation", spent.clients)
	if len(r.o.PIDs) > 0 {
		put("cpu_servers_per_operation", spent.servers)
	}
}

// addCost adds the processor time per gigabyte. Unlike that of an operation, it does not depend on the size, so machines
// and servers can be compared.
func (r *run) addCost(labels result.Labels, bytes int64, spent cost) {
	put := func(name string, value float64) {
		r.rec.Add(result.Measure{Name: name, Labels: labels, Unit: "s", Better: result.Lower, Samples: []float64{value}})
	}
	perGB := 1e9 / float64(bytes)
	put("cpu_clients_per_gb", spent.clients.Seconds()*perGB)
	if len(r.o.PIDs) > 0 {
		put("cpu_servers_per_gb", spent.servers.Seconds()*perGB)
	}
}
