package checkpoint_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"hemera/platform/kv/checkpoint"
	"hemera/platform/vfs"
)

// A checkpoint of a store is made, served over HTTP, and fetched. With real managers the filesystem is vfs.OS, and the client has certificates.
func Example() {
	ctx := context.Background()
	here, there := vfs.NewMemory(0, nil), vfs.NewMemory(0, nil)
	store := fake{fs: here, files: content{"000001.sst": []byte("table"), "wal/state": []byte("log")}}

	if _, err := checkpoint.Make(ctx, store, here, "/checkpoint"); err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(checkpoint.NewHandler(checkpoint.Local{FS: here, Dir: "/checkpoint"}))
	defer server.Close()

	source := checkpoint.NewRemote(server.Client(), server.URL)
	m, err := checkpoint.Fetch(ctx, source, there, "/store", checkpoint.Options{BytesPerSecond: 100 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("at batch", m.Last)
	for _, f := range m.Files {
		fmt.Println(f.Name, f.Size)
	}
	// Output:
	// at batch 42
	// 000001.sst 5
	// wal/state 3
}
