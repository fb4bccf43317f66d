package copy_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hemera/client/copy"
	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
)

// Run copies a file from a server to a directory of this machine. A second copy with Continue finds it there.
func ExampleRun() {
	server, err := xrootdtest.Start(xrootdtest.DataServer, xrootdtest.OneFile([]byte("the first event")))
	if err != nil {
		log.Fatal(err)
	}
	defer server.Stop()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	client := xrootd.New(xrootd.Options{})
	defer client.Close()
	from := []string{server.URL("/exp/run1.data").String()}
	for range 2 {
		p, err := copy.Run(context.Background(), client, from, dir, copy.Options{Continue: true})
		if err != nil {
			log.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(dir, "run1.data"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q, %d of %d files were there already\n", content, p.Skipped, p.Files)
	}
	// Output:
	// "the first event", 0 of 1 files were there already
	// "the first event", 1 of 1 files were there already
}
