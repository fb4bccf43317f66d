package pieces_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"hemera/client/pieces"
	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/words/hemera"
)

// Open reads a replicated file from the file of one piece, which came from a disk of a broken machine. The name of the
// file does not matter.
func ExampleOpen() {
	memory := vfs.NewMemory(16<<20, time.Now)
	if _, err := disk.Format(memory, "/"); err != nil {
		log.Fatal(err)
	}
	d, err := disk.Open(memory, "/", disk.Options{})
	if err != nil {
		log.Fatal(err)
	}
	w, err := d.Create(hemera.PieceID{File: 42, Gen: 1}, disk.CreateOptions{Path: "/exp/run1.data", Layout: hemera.Replica(2)})
	if err == nil {
		err = w.WritePages([]byte("the first event\n"), nil, 0)
	}
	if err == nil {
		_, err = w.Seal(hemera.SealInfo{FileSize: 16})
	}
	if err != nil {
		log.Fatal(err)
	}
	d.Close()

	f, err := pieces.Open(memory, []string{"/0/0000002a.1.0"})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.Stat().Path, f.Stat().Layout, f.Problems())
	if err := f.WriteTo(context.Background(), os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
	// Output:
	// /exp/run1.data replica:2 []
	// the first event
}
