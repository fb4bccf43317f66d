package checkpoint_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"hemera/platform/kv/checkpoint"
	"hemera/platform/vfs"
)

// BenchmarkFetch brings 128 MiB over TLS on the loopback to a disk.
func BenchmarkFetch(b *testing.B) {
	dir := b.TempDir()
	c := content{}
	for i := range 4 {
		c[fmt.Sprintf("%06d.sst", i)] = numbers(uint64(i), 32<<20)
	}
	src := checkpoint.Local{FS: vfs.OS{}, Dir: filepath.Join(dir, "c")}
	m, err := checkpoint.Make(b.Context(), fake{fs: vfs.OS{}, files: c}, vfs.OS{}, src.Dir)
	if err != nil {
		b.Fatal(err)
	}
	client, base := served(b, src)
	b.SetBytes(m.Bytes())
	i := 0
	for b.Loop() {
		i++
		if _, err := checkpoint.Fetch(b.Context(), checkpoint.NewRemote(client, base), vfs.OS{}, filepath.Join(dir, fmt.Sprint("to", i)), checkpoint.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
