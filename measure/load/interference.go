package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"hemera/measure/result"
	"hemera/words/errs"
)

// The directions of Interference, which are its loads.
const (
	Read  = "read"
	Write = "write"
)

// The times at which a target is measured: alone, with all others, and alone again. The second time alone shows changes
// of the machines.
const (
	alone    = "alone"
	together = "together"
	after    = "after"
)

// allTargets is the label of the sum of all targets.
const allTargets = "all"

// interference is one run. It belongs to the goroutine of Interference.
type interference struct {
	run             // options, recorder and progress
	groups []*group // one for each target, in the order of the options
	names  []string // of the targets, in labels; all different
	fresh  int      // sets of files that were written
}

// Interference measures whether targets slow each other: each is measured alone, then all at once, then each alone again,
// o.Iterations times. o.Loads is Read, Write or both. The common phase ends when the first target has finished its work,
// because later rates of the others show no interference. It removes its files.
func Interference(ctx context.Context, o Options, rec *result.Recorder) error {
	// Its loads have other names than those of Run.
	loads := o.Loads
	o.Loads, o.Driver = nil, DriverOwn
	if err := checkInterference(&o, loads); err != nil {
		return err
	}
	i := &interference{run: run{o: &o, rec: rec}, names: targetNames(o.Targets)}
	i.total = len(loads) * len(o.Clients) * o.Iterations * (2*len(o.Targets) + 1)
	for _, n := range o.Clients {
		for _, load := range loads {
			for _, f := range interferenceFigures(load, n) {
				rec.Figure(f)
			}
		}
	}
	o.describe(rec, directory{root: strings.Join(i.names, " ")})
	rec.Set("loads", strings.Join(loads, ","))
	// Directories made before an error are removed too.
	err := i.prepare(ctx)
	if err == nil {
		err = i.measure(ctx, loads)
	}
	for _, g := range i.groups {
		err = errors.Join(err, g.remove(ctx))
	}
	return err
}

// checkInterference fails with Invalid if the options are not usable.
func checkInterference(o *Options, loads []string) error {
	bad := func(subject, text string) error {
		return errs.New(errs.Invalid, "load.Interference", subject, text)
	}
	// Other loads have no byte rate that targets could share.
	for _, l := range loads {
		if l != Read && l != Write {
			return bad("--load", fmt.Sprintf("%q is neither read nor write", l))
		}
	}
	switch {
	case len(loads) == 0:
		return bad("--load", "it takes read, write or both")
	case len(o.Targets) < 2:
		return errs.New(errs.Invalid, "load.Interference", "", "it takes two targets or more").WithRemedy("name the directories that are to be read at once; hemera bench io measures one")
	}
	return o.Check()
}

// CheckInterference fails with Invalid if an option is not usable for Interference, and names the first.
func CheckInterference(o Options) error {
	loads := o.Loads
	o.Loads, o.Driver = nil, DriverOwn
	return checkInterference(&o, loads)
}

// targetNames returns the targets, with a number if one occurs more than once.
func targetNames(targets []string) (names []string) {
	// A label must name one target; otherwise the samples of two would be in one measure.
	for i, t := range targets {
		name := strings.ReplaceAll(t, " ", "_") // labels are words
		if same := slices.Index(targets, t); same != i {
			name += fmt.Sprintf("#%d", i+1)
		}
		names = append(names, name)
	}
	return names
}

// prepare makes the directories of all targets. After an error i.groups has those that it made.
func (i *interference) prepare(ctx context.Context) error {
	for _, name := range i.o.Targets {
		place, err := i.o.place(ctx, name)
		if err != nil {
			return err
		}
		// Each target has its own content, so that data of another target is not taken for its own.
		g, err := newGroup(ctx, place, newName(), rand.Uint64())
		if err != nil {
			return err
		}
		i.groups = append(i.groups, g)
	}
	return nil
}

// measure measures all numbers of clients. Writes come first: their files are removed after each step, and the files of
// the reads stay for all reads.
func (i *interference) measure(ctx context.Context, loads []string) error {
	// Few clients first, as in a run of one target.
	for _, n := range i.o.Clients {
		if err := i.clients(ctx, n, loads); err != nil {
			return err
		}
	}
	return nil
}

// clients measures one number of clients of each target.
func (i *interference) clients(ctx context.Context, n int, loads []string) error {
	// All clients exist all the time; those of a target that is not measured wait without using their connections.
	for _, g := range i.groups {
		defer g.leave()
		if err := g.join(ctx, n, i.o.Transfer); err != nil {
			return err
		}
	}
	// Each step of a write has its own files.
	if slices.Contains(loads, Write) {
		if err := i.direction(ctx, n, Write, func() phase {
			i.fresh++
			return i.writing()
		}); err != nil {
			return err
		}
	}
	if !slices.Contains(loads, Read) {
		return nil
	}
	// All groups write the files to read completely, whichever is first.
	i.fresh++
	for _, g := range i.groups {
		g.over.Store(false)
	}
	if _, _, err := runPhase(ctx, i.groups, i.writing(), nil); err != nil {
		return err
	}
	if err := i.direction(ctx, n, Read, func() phase {
		return phase{name: Read, cold: true, do: i.each(func(s set) work { return i.o.readFiles(s) })}
	}); err != nil {
		return err
	}
	return i.removeFiles(ctx)
}

// writing returns the phase that writes the present set of files.
func (i *interference) writing() phase {
	return phase{name: Write, write: true, do: i.each(func(s set) work { return i.o.writeFiles(s) })}
}

// work is the work of one client in a phase.
type work func(ctx context.Context, c *client, n *count) error

// each makes the work of all groups; each has its files in its own directory.
func (i *interference) each(of func(s set) work) work {
	return func(ctx context.Context, c *client, n *count) error { return of(set{c.dir, "s", i.fresh})(ctx, c, n) }
}

// removeFiles removes the files that all groups have written so far. Their directories stay.
func (i *interference) removeFiles(ctx context.Context) (err error) {
	for _, g := range i.groups {
		err = errors.Join(err, g.removeFiles(ctx))
	}
	return err
}

// direction measures one load, and adds the ratios and the verdicts.
func (i *interference) direction(ctx context.Context, n int, load string, next func() phase) error {
	// The labels of a step are these, the target and the time.
	labels := result.Labels{"load": load, "clients": strconv.Itoa(n)}
	ratios := make([][]float64, len(i.groups)+1) // of each target, and of all
	for range i.o.Iterations {
		// By time, in the order of the targets, in B/s.
		rates := map[string][]float64{}
		for _, when := range []string{alone, together, after} {
			got, err := i.step(ctx, labels, when, next)
			if err != nil {
				return err
			}
			rates[when] = got
		}
		// The machines may change slowly, so the rate together is compared with the mean of those before and after.
		var sum, sumAlone float64
		for k := range i.groups {
			by := (rates[alone][k] + rates[after][k]) / 2
			sum, sumAlone = sum+rates[together][k], sumAlone+by
			ratios[k] = append(ratios[k], rates[together][k]/by)
		}
		ratios[len(i.groups)] = append(ratios[len(i.groups)], sum/sumAlone)
		i.put("throughput", "B/s", at(labels, allTargets, together), sum)
	}
	// The last one is that of all targets together.
	for k, r := range ratios {
		name := append(slices.Clone(i.names), allTargets)[k]
		for _, v := range r {
			i.put("ratio", "1", at(labels, name, ""), v)
		}
		i.rec.Note("%s, %d clients each: %s", load, n, sentence(name, r))
	}
	return nil
}

// at returns the labels of a target in a load. when is "" for measures without a time.
func at(load result.Labels, target, when string) result.Labels {
	l := maps.Clone(load)
	l["target"] = target
	if when != "" {
		l["when"] = when
	}
	return l
}

// put adds one sample. The peak of all targets together is the named limit.
func (i *interference) put(name, unit string, labels result.Labels, value float64) {
	m := result.Measure{Name: name, Labels: labels, Unit: unit, Better: result.Higher, Samples: []float64{value}}
	if i.o.Limit > 0 && name == "throughput" && labels["target"] == allTargets {
		m.Peak, m.PeakFrom = i.o.Limit, "the limit that all targets share, as named"
	}
	i.rec.Add(m)
}

// step measures all targets, one after another or at once, and returns the rate of each in B/s.
func (i *interference) step(ctx context.Context, labels result.Labels, when string, next func() phase) (rates []float64, err error) {
	// One round of all, or a round of each.
	rounds := [][]*group{i.groups}
	if when != together {
		rounds = nil
		for _, g := range i.groups {
			rounds = append(rounds, []*group{g})
		}
	}
	for k, groups := range rounds {
		// The targets measured now.
		name := i.names[k]
		if when == together {
			name = allTargets
		}
		i.rec.Step(i.done, i.total, "%s, %s clients: %s %s", labels["load"], labels["clients"], name, when)
		i.done++
		// The work of a step is made for each round, because writes need new names.
		got, err := i.once(ctx, at(labels, name, when), groups, next())
		if err != nil {
			return nil, err
		}
		for _, o := range got {
			name, rate := i.names[len(rates)], float64(o.bytes())/o.took.Seconds()
			i.put("throughput", "B/s", at(labels, name, when), rate)
			// Of one transfer: the effect that users of this target notice first.
			if result.Tells(o.operations, 99) {
				i.rec.Add(result.Measure{Name: "latency_p99", Labels: at(labels, name, when), Unit: "s", Better: result.Lower, Samples: []float64{o.quantile(99)}})
			}
			rates = append(rates, rate)
		}
	}
	return rates, nil
}

// once runs a phase with some groups. The first group that has finished its work ends the phase for the others.
func (i *interference) once(ctx context.Context, labels result.Labels, groups []*group, p phase) ([]outcome, error) {
	// As in a run of one target: new sessions and no page cache.
	if p.cold {
		for _, g := range groups {
			if err := g.reopen(ctx); err != nil {
				return nil, err
			}
		}
		i.chill()
	}
	// A group that is alone ends only its own work.
	p.do = endingTogether(groups, p.do)
	end := i.rec.Iteration(labels)
	got, spent, err := runPhase(ctx, groups, p, i.o.PIDs)
	if err != nil {
		return nil, err
	}
	// For all groups: the processor time is that of the whole process.
	var bytes int64
	for _, o := range got {
		bytes += o.bytes()
	}
	end(bytes, 0)
	if len(groups) > 1 {
		i.addCost(labels, bytes, spent)
	}
	// The next step writes other files, and the disk may be small.
	if p.write {
		return got, i.removeFiles(ctx)
	}
	return got, nil
}

// endingTogether makes the work of all groups end when the last client of any group has finished its own.
func endingTogether(groups []*group, do work) work {
	// Clients that still work, by group.
	left := map[*group]*atomic.Int64{}
	for _, g := range groups {
		g.over.Store(false)
		left[g] = &atomic.Int64{}
		left[g].Store(int64(len(g.clients)))
	}
	return func(ctx context.Context, c *client, n *count) error {
		// Also after an error, which ends the phase anyway.
		err := do(ctx, c, n)
		if left[c.group].Add(-1) == 0 {
			for _, g := range groups {
				g.over.Store(true)
			}
		}
		return err
	}
}

// interferenceFigures returns the plots of a load with a number of clients.
func interferenceFigures(load string, clients int) []result.Figure {
	// One figure for each number of clients, because bars of different numbers cannot be compared.
	where := result.Labels{"load": load, "clients": strconv.Itoa(clients)}
	id := fmt.Sprintf("interference-%s-%d", load, clients)
	title := fmt.Sprintf("%ss of several targets, %d clients each", strings.ToUpper(load[:1])+load[1:], clients)
	return []result.Figure{
		{ID: id, Title: title, Kind: result.Bars, Names: []string{"throughput"}, Where: where, X: "target", Group: []string{"when"}, Peak: true,
			Caption: "Each target alone, all at once, and each alone again. Equal bars: none slows another."},
		{ID: id + "-ratio", Title: title + ": at once, as a share of alone", Kind: result.Bars, Names: []string{"ratio"}, Where: where, X: "target",
			Caption: "100 %: no interference. All targets together: what is left of the sum."},
	}
}
