package pebblekv_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
)

// BenchmarkCommit measures one durable batch of the size of a mkdir, with several writers that each wait for their own.
// TMPDIR chooses the filesystem.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 1000} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) { commits(b, writers) })
	}
}

func commits(b *testing.B, writers int) {
	s, err := pebblekv.Open(filepath.Join(b.TempDir(), "db"), pebblekv.Options{})
	if err != nil {
		b.Fatal(err)
	}
	w, err := s.Acquire(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	before, cpu := s.Stats().Syncs, spent(b)
	work := func() {
		for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
			ticket, err := w.Enqueue(change(i))
			if err == nil {
				err = ticket.Wait(context.WithoutCancel(b.Context())) // as a commit within one process does
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	}
	done := make(chan struct{})
	for range writers {
		go func() { work(); done <- struct{}{} }()
	}
	for range writers {
		<-done
	}
	b.StopTimer()
	b.ReportMetric(float64((spent(b)-cpu).Nanoseconds())/1000/float64(b.N), "cpu-us/op")
	b.ReportMetric(float64(s.Stats().Syncs-before)/float64(b.N), "syncs/op")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// spent returns the processor time of the process so far.
func spent(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// change returns a batch with as many keys and bytes as one mkdir in a deep directory.
func change(i int64) *kv.Batch {
	b := new(kv.Batch)
	for k := range 8 {
		b.Put(fmt.Appendf(nil, "n%d%016x", k, i), make([]byte, 60))
	}
	return b
}
