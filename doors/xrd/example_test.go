package xrd_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"hemera/client/xrootd"
	"hemera/doors/xrd"
	"hemera/platform/auth"
	"hemera/test/fixture"
	"hemera/words/hemera"
)

// noFiles is a service without content.
type noFiles struct{ hemera.Files }

// asAlice is a policy that serves every client as one user.
type asAlice struct{ auth.Policy }

// Offer implements auth.Policy.
func (asAlice) Offer(auth.Peer) ([]auth.Mechanism, error) { return nil, nil }

// Anonymous implements auth.Policy.
func (asAlice) Anonymous(auth.Peer) hemera.Identity {
	return hemera.Identity{Name: "alice", UID: 1001, GID: 100}
}

// New serves any implementation of the hemera interfaces to XRootD clients: here a tree in memory.
func ExampleNew() {
	tree := fixture.NewTree()
	door, err := xrd.New(xrd.Options{
		Manager:     &xrd.ManagerOptions{Names: tree, Attributes: tree, Files: noFiles{}},
		ManagerAddr: func() string { return "" },
		Policy:      asAlice{},
	})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- door.Serve(ctx, listener) }()

	url, err := xrootd.ParseURL("root://" + listener.Addr().String() + "//exp")
	if err != nil {
		log.Fatal(err)
	}
	client := xrootd.New(xrootd.Options{})
	err = client.List(ctx, url, func(i xrootd.Info) error {
		fmt.Println(i.Name, i.Size)
		return nil
	})
	fmt.Println(err)
	client.Close()
	stop()
	fmt.Println(<-ended)
	// Output:
	// data.root 10000000
	// notes.txt 1000
	// run1 234
	// <nil>
	// <nil>
}
