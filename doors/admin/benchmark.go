package admin

import (
	"context"

	"hemera/words/hemera"
)

// benchmarkPrefix is the request of CleanBenchmark.
type benchmarkPrefix struct{ Prefix string }

// serveBenchmark serves the benchmark of the namespace, which runs in the manager.
// Both verbs need an admin, because a run takes as much of the manager as it can get.
func serveBenchmark(d *door) {
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

// benchmarkClient is the part of a [Client] that measures the namespace.
type benchmarkClient struct{ server *server }

// Benchmark implements hemera.Benchmarker. When the context ends before the run does, the manager ends
// the run and removes what it made; CleanBenchmark waits for that.
func (c benchmarkClient) Benchmark(ctx context.Context, _ hemera.Identity, r hemera.BenchmarkRequest, visit func(hemera.BenchmarkUpdate) error) error {
	return receive(ctx, c.server, "Benchmark", r, func(u *hemera.BenchmarkUpdate) error { return visit(*u) })
}

// CleanBenchmark implements hemera.Benchmarker.
func (c benchmarkClient) CleanBenchmark(ctx context.Context, _ hemera.Identity, prefix string) error {
	return c.server.do(ctx, "CleanBenchmark", benchmarkPrefix{prefix})
}
