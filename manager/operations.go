package manager

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

const (
	// rateSeconds is the longest window of rates.
	rateSeconds = 3600
	// latencyMax is the largest latency told apart, and latencyDigits how exactly.
	latencyMax    = time.Hour
	latencyDigits = 2
	// partsMax bounds the memory of one kind of operation: 36 KiB a part.
	// Beyond that several processors share a part.
	partsMax = 32
)

// operations counts what the manager did: how often, how fast, how long it took.
type operations struct {
	now   func() time.Time
	start time.Time // second 0 of all perSecond tables

	mu  sync.Mutex                            // taken to add one
	ops atomic.Pointer[map[string]*operation] // replaced as a whole
}

// operation is one kind's counts. Each processor counts in a part of its own: thousands of requests
// end at the same time, and one lock for all of them would be what they wait for.
type operation struct {
	parts []part        // as many as processors, at most partsMax; not changed after it was made
	next  atomic.Uint32 // the part that is given out next, modulo their number
	// mine gives a goroutine the part its processor used last. It may forget one, which is then given
	// out again, so two can have the same.
	mine sync.Pool

	mu sync.Mutex // of the rest
	// perSecond counts by second since start, modulo its length; last is the newest second counted.
	perSecond [rateSeconds]uint32
	last      int64
}

// part has the counts of one processor for an operation.
type part struct {
	mu            sync.Mutex
	count, errors int64                   // errors are among count
	sum           time.Duration           // of latencies
	latency       *hdrhistogram.Histogram // nanoseconds
	// fresh counts the second, which perSecond does not have yet.
	second int64
	fresh  uint32   // operations of second
	_      [64]byte // the neighbour is another processor's
}

// newOperations counts from now on.
func newOperations(now func() time.Time) *operations {
	o := &operations{now: now, start: now()}
	o.ops.Store(&map[string]*operation{})
	return o
}

// newOperation has a part for each processor.
func newOperation() *operation {
	op := &operation{parts: make([]part, min(runtime.GOMAXPROCS(0), partsMax))}
	for i := range op.parts {
		op.parts[i].latency = hdrhistogram.New(1, int64(latencyMax), latencyDigits)
	}
	op.mine.New = func() any { return &op.parts[int(op.next.Add(1))%len(op.parts)] }
	return op
}

// timing is an operation under way.
type timing struct {
	o    *operations
	name string
	at   time.Time // when it began
}

// begin starts the clock of one operation.
func (o *operations) begin(name string) timing { return timing{o, name, o.now()} }

// end stops it; to be deferred with the address of the operation's error.
func (t timing) end(err *error) {
	now := t.o.now()
	t.o.record(t.name, now, now.Sub(t.at), *err != nil)
}

// record counts one operation that ended now.
func (o *operations) record(name string, at time.Time, took time.Duration, failed bool) {
	// Without a lock: the map is never changed, only replaced.
	op := (*o.ops.Load())[name]
	if op == nil {
		op = o.add(name)
	}
	op.record(int64(at.Sub(o.start)/time.Second), int64(min(max(took, 1), latencyMax)), failed)
}

// add makes the counts of an operation that is seen for the first time.
func (o *operations) add(name string) *operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := *o.ops.Load()
	if op := known[name]; op != nil {
		return op
	}
	// Names are constants of this package, so this happens a few dozen times in the life of a process.
	more := maps.Clone(known)
	more[name] = newOperation()
	o.ops.Store(&more)
	return more[name]
}

// record counts in the part of this processor. second and took are since the start, in seconds, and in nanoseconds.
func (op *operation) record(second, took int64, failed bool) {
	p := op.mine.Get().(*part)
	defer op.mine.Put(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if failed {
		p.errors++
	}
	p.sum += time.Duration(took)
	// It fails only for values beyond latencyMax, and took is within.
	_ = p.latency.RecordValue(took)
	// Once a second each part adds what it has to perSecond, so op.mu is taken seldom.
	if p.second != second {
		op.collect(p)
		p.second = second
	}
	p.fresh++
}

// collect adds what the part counted to perSecond. The caller holds the part's lock.
func (op *operation) collect(p *part) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.advance(p.second)
	// A part that was idle for an hour has a second that is out of the window.
	if p.second > op.last-rateSeconds {
		op.perSecond[p.second%rateSeconds] += p.fresh
	}
	p.fresh = 0
}

// advance clears the seconds that passed since the last record. The caller holds mu.
func (op *operation) advance(second int64) {
	// At most rateSeconds steps, however long nothing was counted. A clock that goes back clears nothing.
	for s := max(op.last+1, second-rateSeconds+1); s <= second; s++ {
		op.perSecond[s%rateSeconds] = 0
	}
	op.last = max(op.last, second)
}

// list returns every operation by name.
func (o *operations) list() []adminapi.OpStat {
	second := int64(o.now().Sub(o.start) / time.Second)
	ops := *o.ops.Load()
	stats := make([]adminapi.OpStat, 0, len(ops))
	for name, op := range ops {
		stats = append(stats, op.stat(name, second))
	}
	slices.SortFunc(stats, func(a, b adminapi.OpStat) int { return cmp.Compare(a.Name, b.Name) })
	return stats
}

// stat adds the parts up. It collects what they have not given to perSecond yet.
func (op *operation) stat(name string, second int64) adminapi.OpStat {
	s := adminapi.OpStat{Name: name}
	latency := hdrhistogram.New(1, int64(latencyMax), latencyDigits)
	for i := range op.parts {
		p := &op.parts[i]
		p.mu.Lock()
		s.Count += p.count
		s.Errors += p.errors
		s.Latency.Sum += p.sum
		latency.Merge(p.latency)
		// A part whose processor does nothing would keep its last second for itself.
		op.collect(p)
		p.mu.Unlock()
	}
	at := func(q float64) time.Duration { return time.Duration(latency.ValueAtQuantile(q)) }
	s.P50, s.P99, s.P999, s.Max = at(50), at(99), at(99.9), time.Duration(latency.Max())
	s.Sigma, s.Latency.Counts = time.Duration(latency.StdDev()), classes(latency)
	op.mu.Lock()
	defer op.mu.Unlock()
	op.advance(second)
	s.Rate5s, s.Rate1m, s.Rate5m, s.Rate1h = op.rate(second, 5), op.rate(second, 60), op.rate(second, 300), op.rate(second, rateSeconds-1)
	return s
}

// classes counts in the classes of [hemera.Latency]. A value within 1 % of a bound may be counted
// beside it, always on the same side: counts never go back.
func classes(h *hdrhistogram.Histogram) []int64 {
	counts := make([]int64, hemera.LatencyClasses)
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			counts[hemera.LatencyClass(time.Duration(bar.To))] += bar.Count
		}
	}
	return counts
}

// rate returns the operations per second over the last n whole seconds, or as many as there were.
func (op *operation) rate(second, n int64) float64 {
	n = min(n, second)
	if n <= 0 {
		return 0
	}
	var sum int64
	// The second under way is left out: it is not whole, and would make every rate too low.
	for s := second - n; s < second; s++ {
		sum += int64(op.perSecond[s%rateSeconds])
	}
	return float64(sum) / float64(n)
}
