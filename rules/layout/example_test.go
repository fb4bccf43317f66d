package layout_test

import (
	"fmt"
	"log"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// A file of 5 MB in rs:4+2: how large its pieces are, which of them a read needs, and what can be lost.
func Example() {
	l, err := hemera.ParseLayout("rs:4+2", 0)
	if err != nil {
		log.Fatal(err)
	}
	l.BlockSize = 1 << 20
	const size = 5_000_000
	for i := range l.Pieces {
		_, data := layout.Column(l, i)
		fmt.Println("piece", i, "data:", data, "bytes:", layout.PieceSize(l, size, i))
	}
	fmt.Println("on disks:", layout.Physical(l, size), "enough to read it:", layout.Needed(l, size))
	for _, s := range layout.Split(l, 1_000_000, 200_000) {
		fmt.Println("read", s.Len, "bytes of piece", s.Column, "at", s.Off)
	}
	left := layout.Indexes([]hemera.Piece{{Index: 0}, {Index: 3}, {Index: 4}, {Index: 5}})
	fmt.Println("without 1 and 2:", layout.Readable(l, size, left), "and can lose", layout.Spare(l, size, left), "more")
	// Output:
	// piece 0 data: true bytes: 1854272
	// piece 1 data: true bytes: 1048576
	// piece 2 data: true bytes: 1048576
	// piece 3 data: true bytes: 1048576
	// piece 4 data: false bytes: 1854272
	// piece 5 data: false bytes: 1854272
	// on disks: 8708544 enough to read it: 4
	// read 48576 bytes of piece 0 at 1000000
	// read 151424 bytes of piece 1 at 0
	// without 1 and 2: true and can lose 0 more
}
