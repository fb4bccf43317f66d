package admin

import (
	"context"

	"hemera"
)

type benchmarkPrefix struct{ Prefix string }

func (d *door) serveBenchmark() {
	stream(d, "Benchmark", true, func(ctx context.Context, who hemera.Identity, r *hemera.BenchmarkRequest, send func(*hemera.BenchmarkUpdate) error) error {
		b, err := part(d.Benchmark, "the benchmark")
		if err != nil {
			return err
		}
		return b.Benchmark(ctx, who, *r, func(u hemera.BenchmarkUpdate) error { return send(&u) })
	})
	unary(d, "CleanBenchmark", true, func(ctx context.Context, who hemera.Identity, r *benchmarkPrefix) (none, error) {
		b, err := part(d.Benchmark, "the benchmark")
		if err != nil {
			return none{}, err
		}
		return none{}, b.CleanBenchmark(ctx, who, r.Prefix)
	})
}

// Benchmark implements hemera.Benchmarker. When the context ends before the run does, the manager ends
// the run and removes what it made; CleanBenchmark waits for that.
func (c *Client) Benchmark(ctx context.Context, _ hemera.Identity, r hemera.BenchmarkRequest, visit func(hemera.BenchmarkUpdate) error) error {
	return receive(ctx, c, "Benchmark", r, func(u *hemera.BenchmarkUpdate) error { return visit(*u) })
}

// CleanBenchmark implements hemera.Benchmarker.
func (c *Client) CleanBenchmark(ctx context.Context, _ hemera.Identity, prefix string) error {
	return c.do(ctx, "CleanBenchmark", benchmarkPrefix{prefix})
}
