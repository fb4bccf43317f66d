package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Benchmark measures the namespace. It implements adminapi.Benchmarker.
type Benchmark struct{ server *server }

// Benchmark implements adminapi.Benchmarker. If the context ends before the run does, the manager ends the run and
// removes its files; CleanBenchmark waits for that.
func (c Benchmark) Benchmark(ctx context.Context, _ hemera.Identity, r adminapi.BenchmarkRequest, visit func(adminapi.BenchmarkUpdate) error) error {
	return receive(ctx, c.server, "Benchmark", r, func(u *adminapi.BenchmarkUpdate) error { return visit(*u) })
}

// CleanBenchmark implements adminapi.Benchmarker.
func (c Benchmark) CleanBenchmark(ctx context.Context, _ hemera.Identity, prefix string) error {
	return c.server.do(ctx, "CleanBenchmark", adminapi.BenchmarkPrefix{Prefix: prefix})
}
