package mounting_test

import (
	"fmt"
	"time"

	"hemera/tape/mounting"
	"hemera/words/tapeapi"
)

// A library with one drive. 120 GB wait to be archived, and one file waits to be recalled.
func Example() {
	now := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	pool := mounting.Key{Kind: tapeapi.Archive, Pool: "default"}
	tape := mounting.Key{Kind: tapeapi.Recall, VID: "V00001"}
	board := mounting.New(mounting.Picture{
		Now: now,
		Queues: []mounting.Queue{
			{Key: pool, Files: 300, Bytes: 120e9, Oldest: now.Add(-2 * time.Minute), Priority: 1, MinAge: 15 * time.Minute},
			{Key: tape, Files: 1, Bytes: 2e9, Oldest: now.Add(-time.Minute), Priority: 1, MinAge: 2 * time.Minute},
		},
		Tapes: []mounting.Tape{
			{VID: "V00001", Pool: "default", Library: "lib", State: tapeapi.Active, Read: true, Full: true, Used: 18e12},
			{VID: "V00002", Pool: "default", Library: "lib", State: tapeapi.Active, Read: true, Write: true, Used: 3e12},
		},
		Drives:   []mounting.Drive{{Name: "drive1", Library: "lib", Up: true}},
		Criteria: mounting.DefaultCriteria(), Rates: mounting.DefaultRates(), Buffer: mounting.Buffer{Free: 1e12},
	})
	d := board.Decide("drive1")
	fmt.Println(d.VID, "for", d.Reason)
	board.Begin("drive1", d)
	why := board.Explain(tape)
	fmt.Println(why.Reasons[0].Text)
	fmt.Println("begins in", why.Begins.Sub(now))
	// Output:
	// V00002 for archive to pool default: 120 GB in 300 files, the oldest for 2 min wait, 100 GB are worth a mount
	// 2.0 GB in 1 file, the oldest for 60 s wait; a mount is worth 100 GB, 2000 files, or an age of 2 min
	// begins in 8m39s
}
