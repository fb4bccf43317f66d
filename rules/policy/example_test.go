package policy_test

import (
	"fmt"
	"log"

	"hemera/rules/policy"
	"hemera/words/hemera"
)

// A directory's forced attributes are stronger than the client's wish, and both are stronger than the space's policy.
func ExampleDecide() {
	space := hemera.Space{Name: "default", Policy: hemera.Policy{Layout: hemera.Replica(2), Checksum: hemera.Adler32, PiecesMin: 2}}
	forced := policy.Attributes{Sys: map[string][]byte{policy.AttrChecksum: []byte("crc32c")}}
	p, err := policy.Decide(forced, space, hemera.Wish{Layout: "plain", Checksum: "md5"}, hemera.Identity{UID: 1000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Layout.Kind, p.Layout.Pieces, p.Checksum, p.PiecesMin)

	_, err = policy.Decide(forced, space, hemera.Wish{Layout: "raid7"}, hemera.Identity{UID: 1000})
	fmt.Println(err)
	// Output:
	// plain 1 crc32c 1
	// policy.Decide wish for layout=raid7: it takes plain, replica:COPIES, rs:DATA+PARITY, stripe:PIECES, lrc:DATA+LOCAL+GLOBAL, or raid5, raid6, raiddp, archive or qrain with a number of all pieces
}
