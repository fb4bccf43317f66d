package xrootd_test

import (
	"context"
	"fmt"
	"log"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
)

// Open opens a file of any XRootD server by its URL.
func Example() {
	server, err := xrootdtest.Start(xrootdtest.DataServer, xrootdtest.OneFile([]byte("the first event")))
	if err != nil {
		log.Fatal(err)
	}
	defer server.Stop()
	url, err := xrootd.ParseURL(fmt.Sprintf("root://127.0.0.1:%d//exp/run1.data", server.Port()))
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	client := xrootd.New(xrootd.Options{App: "example"})
	defer client.Close()
	f, err := client.Open(ctx, url, xrootd.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	p := make([]byte, 5)
	if _, err := f.ReadAt(ctx, p, 4); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes, %q\n", f.Info().Size, p)
	// Output: 15 bytes, "first"
}

func ExampleParseURL() {
	u, err := xrootd.ParseURL("root://alice@manager.example.org//exp/run1.data?tried=node3")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(u.User, u.Addr(), u.Path, u.Opaque.Value("tried"))
	fmt.Println(u.Redacted())
	// Output:
	// alice manager.example.org:1094 /exp/run1.data node3
	// root://alice@manager.example.org:1094//exp/run1.data
}
