package schema_test

import (
	"fmt"

	"hemera/namespace/schema"
	"hemera/words/hemera"
)

// An entry is stored under its directory and its name. The record does not repeat them.
func ExampleEncodeEntry() {
	file := &hemera.Entry{ID: 300, Parent: 7, Name: "run.root", Kind: hemera.KindFile, Mode: 0o644, Size: 4096,
		Gen: 1, Layout: hemera.Replica(2), Space: "default", Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 4}}}
	key := schema.EntryKey(file.Parent, file.Name)
	record := schema.EncodeEntry(file)
	fmt.Printf("%q\n", key)

	back, err := schema.DecodeEntry(key, record)
	fmt.Println(back.Parent, back.Name, back.Size, err)

	var header schema.EntryHeader // what other records follow from
	err = header.Decode(key, record)
	fmt.Println(header.ID, len(header.Pieces), schema.Physical(header.Entry()), err)
	// Output:
	// "ne\x00\x00\x00\x00\x00\x00\x00\arun.root"
	// 7 run.root 4096 <nil>
	// 300 2 8192 <nil>
}
