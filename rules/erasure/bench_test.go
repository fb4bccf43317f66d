package erasure

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/klauspost/reedsolomon"
	"golang.org/x/sys/unix"

	"hemera/test/fixture/effort"
)

var (
	measured = []twin{{4, 0, 2}, {10, 0, 2}, {10, 0, 4}, {12, 2, 2}}
	sizes    = []int{64 << 10, 256 << 10, 1 << 20}
)

// each runs a benchmark for all codes and sizes. bytes is the number of bytes that a call counts for.
func each(b *testing.B, run func(b *testing.B, w twin, blocks [][]byte)) {
	for _, w := range measured {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/%dK", w, size>>10), func(b *testing.B) {
				blocks := reedsolomon.AllocAligned(w.pieces(), size)
				for i, r := range w.random(1, 4096) {
					for at := 0; at < size; at += len(r) {
						copy(blocks[i][at:], r)
					}
				}
				run(b, w, blocks)
			})
		}
	}
}

// onOneCore measures calls of run. Each call counts for that many bytes. It reports two rates: by the processor time of
// this thread and by the clock. Other work on the machine changes the first one less.
func onOneCore(b *testing.B, bytes int, run func() error) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	if err := run(); err != nil { // the first call fills pools
		b.Fatal(err)
	}
	start := used()
	for b.Loop() {
		if err := run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(bytes)*float64(b.N)/float64(max(used()-start, 1)), "cpu-GB/s")
}

// BenchmarkEncode counts data bytes.
func BenchmarkEncode(b *testing.B) {
	each(b, func(b *testing.B, w twin, blocks [][]byte) {
		c := w.code(b)
		onOneCore(b, w.data*len(blocks[0]), func() error { return c.Encode(blocks) })
	})
}

// BenchmarkModule measures the module alone on one core: the same number of data and parity pieces, with its own
// coefficients.
func BenchmarkModule(b *testing.B) {
	each(b, func(b *testing.B, w twin, blocks [][]byte) {
		c, err := reedsolomon.New(w.data, w.local+w.global, reedsolomon.WithMaxGoroutines(1))
		if err != nil {
			b.Fatal(err)
		}
		onOneCore(b, w.data*len(blocks[0]), func() error { return c.Encode(blocks) })
	})
}

// rebuilds counts bytes that are read. The plan is made before.
func rebuilds(b *testing.B, want Set) {
	each(b, func(b *testing.B, w twin, blocks [][]byte) {
		p, err := w.code(b).Plan(want, Range(0, w.pieces()))
		if err != nil {
			b.Fatal(err)
		}
		onOneCore(b, p.Read().Len()*len(blocks[0]), func() error { return p.Rebuild(blocks) })
	})
}

func BenchmarkRebuild1(b *testing.B) { rebuilds(b, SetOf(0)) }
func BenchmarkRebuild2(b *testing.B) { rebuilds(b, SetOf(0, 1)) }

// BenchmarkUpdate counts the bytes of the block that changed.
func BenchmarkUpdate(b *testing.B) {
	each(b, func(b *testing.B, w twin, blocks [][]byte) {
		c := w.code(b)
		onOneCore(b, len(blocks[0]), func() error { return c.Update(blocks[w.data:], 0, blocks[0], blocks[1%w.data]) })
	})
}

func BenchmarkPlan(b *testing.B) {
	for _, w := range measured {
		b.Run(w.String(), func(b *testing.B) {
			c := w.code(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Plan(SetOf(0, 1), Range(0, w.pieces())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadable(b *testing.B) {
	for _, w := range measured {
		b.Run(w.String(), func(b *testing.B) {
			c := w.code(b)
			b.ReportAllocs()
			for b.Loop() {
				if !c.Readable(Range(2, w.pieces())) {
					b.Fatal("not readable")
				}
			}
		})
	}
}

// Operations on each row of a file must not make garbage. The module allocates 896 bytes for each kernel if the processor
// has GFNI.
func TestAllocations(t *testing.T) {
	if effort.Raced { // it keeps functions from being inlined, so that they allocate
		t.Skip("the race detector allocates")
	}
	for _, w := range measured {
		c := w.code(t)
		blocks := w.random(9, tileSize)
		plan, err := c.Plan(SetOf(0, 1), Range(0, w.pieces()))
		check(t, err)
		kernels := float64(len(c.parity.kernels))
		for name, test := range map[string]struct {
			most float64
			run  func() error
		}{
			"encode":   {kernels, func() error { return c.Encode(blocks) }},
			"rebuild":  {float64(len(plan.product.kernels)), func() error { return plan.Rebuild(blocks) }},
			"update":   {0, func() error { return c.Update(blocks[w.data:], 1, blocks[0], blocks[1]) }},
			"readable": {0, func() error { c.Readable(Range(1, w.pieces())); return nil }},
			"sources":  {0, func() error { c.Sources(0, Range(2, w.pieces())); return nil }},
		} {
			got := testing.AllocsPerRun(50, func() { check(t, test.run()) })
			if got > test.most {
				t.Errorf("%s: %s allocates %.1f times, the most is %.0f", w, name, got, test.most)
			}
		}
	}
}
