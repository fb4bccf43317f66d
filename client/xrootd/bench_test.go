package xrootd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/test/conform"
)

// BenchmarkStream moves 256 MiB through the stock server by request size, to choose Options.Chunk.
func BenchmarkStream(b *testing.B) {
	server, root := conform.StockServer(b)
	const size = 256 << 20
	if err := os.WriteFile(filepath.Join(root, "f"), xrootdtest.Pattern(size), 0o644); err != nil {
		b.Fatal(err)
	}
	for _, chunk := range []int{256 << 10, 1 << 20, 4 << 20, 8 << 20} {
		c := xrootd.New(xrootd.Options{Chunk: chunk})
		defer c.Close()
		u, err := xrootd.ParseURL(server)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("read/%dKiB", chunk>>10), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				f, err := c.Open(b.Context(), u.Join("f"), xrootd.OpenOptions{})
				if err != nil {
					b.Fatal(err)
				}
				r := f.NewReader(b.Context(), 0, size)
				total := 0
				for p, err := r.Next(); err == nil; p, err = r.Next() {
					total += len(p)
				}
				if total != size {
					b.Fatal("short read: ", total)
				}
				f.Close(b.Context())
			}
		})
		data := xrootdtest.Pattern(8 << 20)
		b.Run(fmt.Sprintf("write/%dKiB", chunk>>10), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				f, err := c.Open(b.Context(), u.Join("w"), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
				if err != nil {
					b.Fatal(err)
				}
				w := f.NewWriter(b.Context(), 0)
				for range size / len(data) {
					w.Write(data)
				}
				if err := w.Flush(); err != nil {
					b.Fatal(err)
				}
				f.Close(b.Context())
			}
		})
	}
}
