package xrootd_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/test/conform"
)

// through returns a client, and the URL of a file at a server behind a proxy.
func through(t *testing.T, server string, cuts ...conform.Cut) (*xrootd.Client, xrootd.URL, *conform.Cutter) {
	t.Helper()
	u, err := xrootd.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	p := conform.NewCutter(t, u.Addr(), cuts...)
	u, err = xrootd.ParseURL("root://" + p.Addr() + "//f")
	if err != nil {
		t.Fatal(err)
	}
	c := xrootd.New(xrootd.Options{RetryFor: 5 * time.Second, Chunk: 64 << 10, Window: 256 << 10})
	t.Cleanup(func() { c.Close() })
	return c, u, p
}

// places has the byte offsets of cuts: in the login, in an answer's header, in data, at its end.
var places = []int64{1, 30, 60, 300, 1000, 70_000, 131_072, 400_001}

func TestReadGoesOnAfterCut(t *testing.T) {
	server, root := conform.StockServer(t)
	data := xrootdtest.Pattern(1_000_003)
	if err := os.WriteFile(filepath.Join(root, "f"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, at := range places {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			c, u, p := through(t, server, conform.Cut{ToClient: at}, conform.Cut{ToClient: at + 50_000})
			f, err := c.Open(t.Context(), u, xrootd.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := f.NewReader(t.Context(), 0, 1<<40)
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("read %d bytes of %d, %v", len(got), len(data), err)
			}
			if p.Connections() < 2 {
				t.Error("the connection was not cut: the test proves nothing")
			}
			if err := f.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWriteGoesOnAfterCut(t *testing.T) {
	server, root := conform.StockServer(t)
	data := xrootdtest.Pattern(1_000_003)
	for _, at := range places {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			// One cut in the client's requests and one in the answers.
			c, u, p := through(t, server, conform.Cut{ToServer: max(at, 200)}, conform.Cut{ToClient: 400})
			u.Path = fmt.Sprintf("/w%d", at)
			f, err := c.Open(t.Context(), u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
			if err != nil {
				t.Fatal(err)
			}
			w := f.NewWriter(t.Context(), 0)
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(root, u.Path))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("the server has %d bytes of %d, %v", len(got), len(data), err)
			}
			if p.Connections() < 2 {
				t.Error("the connection was not cut: the test proves nothing")
			}
		})
	}
}

func TestCancelledReadGivesMemoryBack(t *testing.T) {
	server, root := conform.StockServer(t)
	data := xrootdtest.Pattern(1_000_003)
	if err := os.WriteFile(filepath.Join(root, "f"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	c, u, _ := through(t, server)
	f, err := c.Open(t.Context(), u, xrootd.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		p := make([]byte, len(data))
		done := make(chan error, 1)
		go func() {
			_, err := f.ReadAt(ctx, p, 0)
			done <- err
		}()
		cancel()
		<-done
		clear(p) // the race detector reports a writer that is still active
	}
	p := make([]byte, len(data))
	if n, err := f.ReadAt(t.Context(), p, 0); err != nil || !bytes.Equal(p, data) {
		t.Errorf("after cancelled reads: %d bytes, %v", n, err)
	}
}

func TestNobodyThere(t *testing.T) {
	c := xrootd.New(xrootd.Options{RetryFor: time.Nanosecond})
	defer c.Close()
	u, _ := xrootd.ParseURL("root://127.0.0.1:1//f")
	if _, err := c.Stat(t.Context(), u); err == nil {
		t.Error("stat at a server that is not there succeeds")
	}
}
