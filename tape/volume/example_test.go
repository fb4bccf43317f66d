package volume_test

import (
	"context"
	"fmt"
	"log"

	"hemera/tape/internal/memtape"
	"hemera/tape/volume"
)

// A tape is labelled and gets a file. Then its index says what is on it, to a program that has no catalogue.
func Example() {
	ctx := context.Background()
	tape := &memtape.Tape{}
	if err := volume.Format(ctx, tape, volume.Label{VID: "V00001"}, writer()); err != nil {
		log.Fatal(err)
	}
	v, err := volume.Open(ctx, tape, "V00001", writer())
	if err != nil {
		log.Fatal(err)
	}
	a, err := v.Append(ctx, volume.Known{})
	if err != nil {
		log.Fatal(err)
	}
	if err := a.Begin(ctx, 4711); err != nil {
		log.Fatal(err)
	}
	if err := a.Write(ctx, []byte("the first event")); err != nil {
		log.Fatal(err)
	}
	w, err := a.End(ctx)
	if err != nil {
		log.Fatal(err)
	}
	a.Note(volume.Record{Kind: volume.KindFile, FSeq: w.FSeq, Block: w.Block, ArchiveID: w.ArchiveID, Size: w.Size, Path: "/exp/run1.data"})
	if _, _, err := a.Index(ctx); err != nil {
		log.Fatal(err)
	}
	if err := a.Flush(ctx); err != nil { // durable now
		log.Fatal(err)
	}

	f, err := v.OpenFile(ctx, volume.Place{FSeq: w.FSeq, Block: w.Block, ArchiveID: 4711})
	if err != nil {
		log.Fatal(err)
	}
	buf := make([]byte, f.BlockSize())
	n, err := f.Read(ctx, buf)
	fmt.Printf("%q %v\n", buf[:n], err)
	err = v.Scan(ctx, volume.ScanOptions{}, func(r volume.Record) error {
		if r.Kind == volume.KindFile {
			fmt.Println("file", r.FSeq, r.Path, r.Size)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// "the first event" <nil>
	// file 1 /exp/run1.data 15
}
