package manager

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"hemera"
)

const (
	// rateSeconds is the longest window of rates.
	rateSeconds = 3600
	// latencyMax is the largest latency told apart, and latencyDigits how exactly.
	latencyMax    = time.Hour
	latencyDigits = 2
)

// operations counts what the manager did: how often, how fast, how long it took.
type operations struct {
	now   func() time.Time
	start time.Time

	mu  sync.RWMutex // guards the map, not what it points to
	ops map[string]*operation
}

type operation struct {
	mu            sync.Mutex
	count, errors int64
	latency       *hdrhistogram.Histogram // nanoseconds
	// perSecond counts by second since start, modulo its length; last is the newest second counted.
	perSecond [rateSeconds]uint32
	last      int64
}

func newOperations(now func() time.Time) *operations {
	return &operations{now: now, start: now(), ops: map[string]*operation{}}
}

// begin starts the clock of one operation and returns what ends it, to be deferred with the address
// of the operation's error.
func (o *operations) begin(name string) func(*error) {
	started := o.now()
	return func(err *error) { o.record(name, o.now(), o.now().Sub(started), *err != nil) }
}

func (o *operations) record(name string, at time.Time, took time.Duration, failed bool) {
	o.mu.RLock()
	op := o.ops[name]
	o.mu.RUnlock()
	if op == nil {
		op = o.add(name)
	}
	second := int64(at.Sub(o.start) / time.Second)
	op.mu.Lock()
	defer op.mu.Unlock()
	op.count++
	if failed {
		op.errors++
	}
	_ = op.latency.RecordValue(int64(min(max(took, 1), latencyMax)))
	op.advance(second)
	op.perSecond[second%rateSeconds]++
}

func (o *operations) add(name string) *operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ops[name] == nil {
		o.ops[name] = &operation{latency: hdrhistogram.New(1, int64(latencyMax), latencyDigits)}
	}
	return o.ops[name]
}

// advance clears the seconds that passed since the last record.
func (op *operation) advance(second int64) {
	for s := max(op.last+1, second-rateSeconds+1); s <= second; s++ {
		op.perSecond[s%rateSeconds] = 0
	}
	op.last = max(op.last, second)
}

// list is every operation by name.
func (o *operations) list() []hemera.OpStat {
	second := int64(o.now().Sub(o.start) / time.Second)
	o.mu.RLock()
	defer o.mu.RUnlock()
	stats := make([]hemera.OpStat, 0, len(o.ops))
	for name, op := range o.ops {
		stats = append(stats, op.stat(name, second))
	}
	slices.SortFunc(stats, func(a, b hemera.OpStat) int { return cmp.Compare(a.Name, b.Name) })
	return stats
}

func (op *operation) stat(name string, second int64) hemera.OpStat {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.advance(second)
	at := func(q float64) time.Duration { return time.Duration(op.latency.ValueAtQuantile(q)) }
	return hemera.OpStat{
		Name: name, Count: op.count, Errors: op.errors,
		Rate5s: op.rate(second, 5), Rate1m: op.rate(second, 60), Rate5m: op.rate(second, 300), Rate1h: op.rate(second, rateSeconds-1),
		P50: at(50), P99: at(99), P999: at(99.9), Max: time.Duration(op.latency.Max()),
	}
}

// rate is operations per second over the last n whole seconds, or as many as there were.
func (op *operation) rate(second, n int64) float64 {
	n = min(n, second)
	if n <= 0 {
		return 0
	}
	var sum int64
	for s := second - n; s < second; s++ {
		sum += int64(op.perSecond[s%rateSeconds])
	}
	return float64(sum) / float64(n)
}
