package disk

import (
	"fmt"
	"sync/atomic"
	"testing"

	"hemera/platform/vfs"
	"hemera/words/hemera"
)

func BenchmarkCreateSeal(b *testing.B) {
	data := randomBytes(1, 4096)
	for _, sync := range []bool{false, true} {
		for _, parallel := range []int{1, 16} {
			b.Run(fmt.Sprintf("sync=%v/parallel=%d", sync, parallel), func(b *testing.B) {
				d := newDisk(b, vfs.OS{}, b.TempDir(), Options{})
				var next atomic.Int64
				b.SetParallelism(parallel)
				run := func() {
					w, err := d.Create(pieceID(int(next.Add(1))), CreateOptions{Path: "/a/b", Layout: hemera.Plain()})
					if err != nil {
						b.Fatal(err)
					}
					if err := w.WritePages(data, nil, 0); err != nil {
						b.Fatal(err)
					}
					if _, err := w.Seal(hemera.SealInfo{FileSize: 4096, Sync: sync}); err != nil {
						b.Fatal(err)
					}
				}
				if parallel == 1 {
					for b.Loop() {
						run()
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						run()
					}
				})
			})
		}
	}
}

// BenchmarkWrite writes and seals 256 MiB, 1 MiB at a time.
func BenchmarkWrite(b *testing.B) {
	data := randomBytes(1, 1<<20)
	const size = 256 << 20
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			d := newDisk(b, vfs.OS{}, b.TempDir(), Options{})
			b.SetBytes(size)
			for b.Loop() {
				w, err := d.Create(pieceID(1), CreateOptions{SizeHint: size})
				if err != nil {
					b.Fatal(err)
				}
				for off := int64(0); off < size; off += 1 << 20 {
					if err := w.WritePages(data, nil, off); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Seal(hemera.SealInfo{FileSize: size, Sync: sync}); err != nil {
					b.Fatal(err)
				}
				if err := d.Remove(pieceID(1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	d := newDisk(b, vfs.OS{}, b.TempDir(), Options{})
	const size = 256 << 20
	store(b, d, pieceID(1), randomBytes(1, size), 1<<20)
	for _, c := range []struct {
		name string
		n    int64
		step int64
	}{{"4KiB", 4096, 4096}, {"64KiB", 64 << 10, 64 << 10}, {"256KiB", 256 << 10, 256 << 10}, {"1MiB", 1 << 20, 1 << 20}, {"unaligned", 64 << 10, 64<<10 + 100}} {
		b.Run(c.name, func(b *testing.B) {
			r, err := d.Open(pieceID(1))
			if err != nil {
				b.Fatal(err)
			}
			p := make([]byte, c.n)
			b.SetBytes(c.n)
			off := int64(0)
			for b.Loop() {
				if _, err := r.ReadPages(p, nil, off); err != nil {
					b.Fatal(err)
				}
				if off += c.step; off+c.n > size {
					off = 0
				}
			}
			_ = r.Close()
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, idle := range []int{-1, 0} {
		b.Run(fmt.Sprintf("idle=%d", idle), func(b *testing.B) {
			d := newDisk(b, vfs.OS{}, b.TempDir(), Options{IdlePieces: idle})
			store(b, d, pieceID(1), randomBytes(1, 4096), 1<<20)
			for b.Loop() {
				r, err := d.Open(pieceID(1))
				if err != nil {
					b.Fatal(err)
				}
				_ = r.Close()
			}
		})
	}
}

// BenchmarkVerified measures the cost of checked bytes before a node sends them: by ReadPages, by Verified for the first
// time, and while they stay verified.
func BenchmarkVerified(b *testing.B) {
	const size, step = 256 << 20, 1 << 20
	d := newDisk(b, vfs.OS{}, b.TempDir(), Options{})
	store(b, d, pieceID(1), randomBytes(1, size), 1<<20)
	r, err := d.Open(pieceID(1))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	p := r.(*reader).piece
	run := func(name string, prepare func(), one func(off int64)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				prepare()
				for off := int64(0); off < size; off += step {
					one(off)
				}
			}
		})
	}
	buf := make([]byte, step)
	nothing := func() {}
	run("readpages", nothing, func(off int64) {
		if _, err := r.ReadPages(buf, nil, off); err != nil {
			b.Fatal(err)
		}
	})
	check := func(off int64) {
		if _, ok := r.Verified(off, step); !ok {
			b.Fatal("not verified")
		}
	}
	check(0)
	run("first", func() { p.windows.drop(0, size) }, check)
	run("again", nothing, check)
}

// BenchmarkColdRead reads a piece that is not in memory, with and without the window of our own.
func BenchmarkColdRead(b *testing.B) {
	const size, step = 256 << 20, 256 << 10
	d := newDisk(b, vfs.OS{}, b.TempDir(), Options{VerifiedBytes: -1})
	store(b, d, pieceID(1), randomBytes(1, size), 1<<20)
	buf := make([]byte, step)
	for _, ahead := range []bool{false, true} {
		d.ahead = ahead
		b.Run(fmt.Sprintf("ahead=%v", ahead), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				rd, err := d.Open(pieceID(1))
				if err != nil {
					b.Fatal(err)
				}
				r := rd.(*reader)
				r.piece.forget(0, size)
				for off := int64(0); off < size; off += step {
					if ahead {
						_, err = r.ReadPages(buf, nil, off)
					} else {
						_, err = readPages(r.piece, buf, nil, off)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				_ = r.Close()
			}
		})
	}
}
