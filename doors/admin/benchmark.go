package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveBenchmark serves the benchmark of the namespace, which runs in the manager. Both verbs need an admin, because a
// run takes all the time of the manager that it can get.
func serveBenchmark(d *door) {
	stream(d, "Benchmark", true, func(ctx context.Context, who hemera.Identity, r *adminapi.BenchmarkRequest, send func(*adminapi.BenchmarkUpdate) error) error {
		b, err := part(d.Benchmark, "the benchmark")
		if err != nil {
			return err
		}
		return b.Benchmark(ctx, who, *r, func(u adminapi.BenchmarkUpdate) error { return send(&u) })
	})
	unary(d, "CleanBenchmark", true, func(ctx context.Context, who hemera.Identity, r *adminapi.BenchmarkPrefix) (adminapi.None, error) {
		b, err := part(d.Benchmark, "the benchmark")
		if err != nil {
			return adminapi.None{}, err
		}
		return adminapi.None{}, b.CleanBenchmark(ctx, who, r.Prefix)
	})
}
