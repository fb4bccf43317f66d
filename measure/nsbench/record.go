package nsbench

import (
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"hemera/words/adminapi"
	"hemera/words/errs"
)

const (
	// unit is the resolution of latencies, latencyMax the largest latency in units: a minute.
	unit          = 100 * time.Nanosecond
	latencyMax    = int64(time.Minute / unit)
	latencyDigits = 2
	// failuresMax is the number of different failures in a result.
	failuresMax = 5
)

// record has the counts of one lane of one worker in a phase. Until the phase has ended it belongs to the lane's
// goroutine, so counting takes no lock; other goroutines read only done. Its memory does not grow with the number of
// operations.
type record struct {
	done     atomic.Int64                    // ended operations, for progress
	ops      [counts]int64                   // that succeeded
	errors   [counts]int64                   // that failed
	latency  [counts]*hdrhistogram.Histogram // in units; nil while there are none
	longest  [counts]time.Duration           // exact, because the histogram has two digits
	failures []failure                       // of different kinds, at most failuresMax
	series   *series                         // nil: not requested
}

// failure is the first error of a kind, as an example in the result.
type failure struct {
	kind errs.Kind
	err  error // the first one of the kind
}

// newRecord makes an empty record; with series it also counts latencies over time.
func newRecord(withSeries bool) *record {
	r := &record{}
	if withSeries {
		r.series = &series{}
	}
	return r
}

// reset clears the record before a phase.
func (r *record) reset() {
	r.done.Store(0)
	r.ops, r.errors, r.longest = [counts]int64{}, [counts]int64{}, [counts]time.Duration{}
	r.failures = nil
	for _, h := range r.latency {
		if h != nil {
			h.Reset()
		}
	}
	if r.series != nil {
		*r.series = series{}
	}
}

// add counts one operation with its duration and its end since the begin of the phase. Failures are counted without their
// latencies, because a refusal may be faster than the operation.
func (r *record) add(c counted, at, took time.Duration, err error) {
	if c != uncounted {
		r.done.Add(1)
	}
	if err != nil {
		r.errors[c]++
		r.fail(failure{errs.KindOf(err), err})
		return
	}
	r.ops[c]++
	if c == uncounted {
		return
	}
	if r.latency[c] == nil {
		r.latency[c] = hdrhistogram.New(1, latencyMax, latencyDigits)
	}
	_ = r.latency[c].RecordValue(min(int64(took/unit), latencyMax)) // fails only for larger values
	r.longest[c] = max(r.longest[c], took)
	if r.series != nil && c == asMain {
		r.series.add(at, took)
	}
}

// fail keeps the first failure of each kind.
func (r *record) fail(f failure) {
	if len(r.failures) >= failuresMax {
		return
	}
	for _, have := range r.failures {
		if have.kind == f.kind {
			return
		}
	}
	r.failures = append(r.failures, f)
}

// merge adds another record's counts to r.
func (r *record) merge(o *record) {
	for c := range r.ops {
		r.ops[c] += o.ops[c]
		r.errors[c] += o.errors[c]
		r.longest[c] = max(r.longest[c], o.longest[c])
		if o.latency[c] == nil {
			continue
		}
		if r.latency[c] == nil {
			r.latency[c] = hdrhistogram.New(1, latencyMax, latencyDigits)
		}
		r.latency[c].Merge(o.latency[c])
	}
	for _, f := range o.failures {
		r.fail(f)
	}
	if r.series != nil && o.series != nil {
		r.series.merge(o.series)
	}
}

// result returns the result of a phase from the merged record.
func (r *record) result(p phase) adminapi.BenchmarkResult {
	res := adminapi.BenchmarkResult{Phase: p.name, Main: r.count(asMain)}
	res.Main.Errors += r.errors[uncounted] // a failure of any step is one of the phase
	if p.has(asDirs) {
		dirs := r.count(asDirs)
		res.Dirs = &dirs
	}
	for _, f := range r.failures {
		res.Failures = append(res.Failures, adminapi.BenchmarkFailure{Text: f.err.Error(), Remedy: errs.RemedyOf(f.err)})
	}
	if r.series != nil {
		res.Series = r.series.points()
	}
	return res
}

// count returns the counts of one kind of operation, with the quantiles of its latencies.
func (r *record) count(c counted) adminapi.BenchmarkOps {
	o := adminapi.BenchmarkOps{Ops: r.ops[c], Errors: r.errors[c], Max: r.longest[c]}
	if h := r.latency[c]; h != nil {
		at := func(q float64) time.Duration { return min(time.Duration(h.ValueAtQuantile(q))*unit, o.Max) }
		o.P50, o.P99, o.P999 = at(50), at(99), at(99.9)
	}
	return o
}
