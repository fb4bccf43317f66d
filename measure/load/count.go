package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// latencyUnit is the resolution of latencies, latencyMax the largest latency in units: an hour.
	latencyUnit   = time.Microsecond
	latencyMax    = int64(time.Hour / latencyUnit)
	latencyDigits = 3
)

// count has the results of one goroutine in a phase. It belongs to that goroutine until the phase has ended.
type count struct {
	read, written int64                   // bytes
	operations    int64                   // that succeeded; a failure ends the phase
	latency       *hdrhistogram.Histogram // in units; nil while there is none
}

// add counts one operation.
func (c *count) add(read, written int, took time.Duration) {
	c.read += int64(read)
	c.written += int64(written)
	c.operations++
	if c.latency == nil {
		c.latency = hdrhistogram.New(1, latencyMax, latencyDigits)
	}
	_ = c.latency.RecordValue(min(int64(took/latencyUnit), latencyMax)) // fails only for larger values
}

// merge adds the results of another goroutine.
func (c *count) merge(o *count) {
	c.read += o.read
	c.written += o.written
	c.operations += o.operations
	switch {
	case o.latency == nil:
	case c.latency == nil:
		c.latency = o.latency
	default:
		c.latency.Merge(o.latency)
	}
}

// bytes returns the bytes transferred in both directions.
func (c *count) bytes() int64 { return c.read + c.written }

// quantile returns the latency in seconds that the percentage of the operations did not exceed.
func (c *count) quantile(percent float64) float64 {
	if c.latency == nil {
		return 0
	}
	return (time.Duration(c.latency.ValueAtQuantile(percent)) * latencyUnit).Seconds()
}
