package bounded

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// processor returns the CPU time of this process, in nanoseconds.
func processor() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkStore compares calls made directly with calls made by workers: nanoseconds of CPU a call are what counts.
func BenchmarkStore(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 256 << 10, 1 << 20} {
		for _, kind := range []string{"direct", "bounded"} {
			for _, op := range []string{"write", "read"} {
				b.Run(fmt.Sprintf("%s/%dKiB/%s", op, size>>10, kind), func(b *testing.B) { benchmark(b, op, kind, size) })
			}
		}
	}
}

func benchmark(b *testing.B, op, kind string, size int) {
	dir := b.TempDir()
	if _, err := disk.Format(vfs.OS{}, dir); err != nil {
		b.Fatal(err)
	}
	raw, err := disk.Open(vfs.OS{}, dir, disk.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var store disk.Store = raw
	if kind == "bounded" {
		store = New(raw, nil, nil)
	}
	defer func() { _ = store.Close() }()
	id := hemera.PieceID{File: 1, Gen: 1}
	w, err := store.Create(id, disk.CreateOptions{Layout: hemera.Plain()})
	if err != nil {
		b.Fatal(err)
	}
	const total = 64 << 20
	p := make([]byte, size)
	sums := make([]uint32, checksum.Fragments(0, size))
	checksum.PageSums(p, 0, sums)
	for off := int64(0); off < total; off += int64(size) {
		if err := w.WritePages(p, sums, off); err != nil {
			b.Fatal(err)
		}
	}
	call := w.WritePages
	if op == "read" {
		if _, err := w.Seal(hemera.SealInfo{FileSize: total}); err != nil {
			b.Fatal(err)
		}
		r, err := store.Open(id)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		call = func(p []byte, sums []uint32, off int64) error {
			_, err := r.ReadPages(p, sums, off)
			return err
		}
	}
	b.SetBytes(int64(size))
	b.ResetTimer()
	cpu := processor()
	off := int64(0)
	for b.Loop() {
		if err := call(p, sums, off); err != nil {
			b.Fatal(err)
		}
		off = (off + int64(size)) % total
	}
	b.ReportMetric(float64(processor()-cpu)/float64(b.N), "cpu-ns/op")
	b.StopTimer()
	if op == "write" {
		_ = w.Abort()
	}
	_ = os.RemoveAll(dir)
}
