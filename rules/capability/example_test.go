package capability_test

import (
	"fmt"
	"log"
	"time"

	"hemera/rules/capability"
	"hemera/words/hemera"
)

// The manager signs a permission for the nodes that it names. Each of them verifies with a key of its own.
func Example() {
	manager := capability.NewKeyring(hemera.Key{ID: 1, Secret: []byte("32 random bytes, kept by the manager")})
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	token, err := manager.Mint(hemera.Capability{
		File: 12, Gen: 1, Path: "/exp/run1.data", Access: hemera.AccessRead, Layout: hemera.Plain(),
		Targets: []hemera.Target{{Disk: 3, Node: 7, Addr: "node7.example.org:1095"}},
		Expires: now.Add(time.Minute),
	})
	if err != nil {
		log.Fatal(err)
	}

	node := capability.NewVerifier(manager.NodeKeys(7)...)
	c, err := node.Verify(token, now)
	fmt.Println(c.Path, err)

	_, err = node.Verify(token, now.Add(time.Hour))
	fmt.Println("an hour later:", err)

	other := capability.NewVerifier(manager.NodeKeys(8)...)
	_, err = other.Verify(token, now)
	fmt.Println("at another node:", err)
	// Output:
	// /exp/run1.data <nil>
	// an hour later: capability.Verify /exp/run1.data: the capability has expired
	// at another node: capability.Verify: the capability was not signed for this server, or with a key that is over
}
