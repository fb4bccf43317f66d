package checkpoint_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"hemera/platform/kv/checkpoint"
	"hemera/platform/vfs"
)

// BenchmarkFetch brings 128 MiB over TLS on the loopback to a disk; and the same bytes in one answer, without sums, for comparison.
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
	i := 0
	b.Run("checkpoint", func(b *testing.B) {
		b.SetBytes(m.Bytes())
		for b.Loop() {
			i++
			to := filepath.Join(dir, fmt.Sprint("to", i))
			if _, err := checkpoint.Fetch(b.Context(), checkpoint.NewRemote(client, base), vfs.OS{}, to, checkpoint.Options{}); err != nil {
				b.Fatal(err)
			}
			os.RemoveAll(to)
		}
	})
	s := httptest.NewTLSServer(http.FileServer(http.Dir(filepath.Join(src.Dir, "files"))))
	defer s.Close()
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(m.Bytes())
		for b.Loop() {
			for _, f := range m.Files {
				if err := download(s.Client(), s.URL+"/"+f.Name, filepath.Join(dir, "plain")); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// download gets a page into a file, and syncs that.
func download(client *http.Client, page, to string) error {
	answer, err := client.Get(page)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, answer.Body)
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(to))
}
