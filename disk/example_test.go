package disk_test

import (
	"fmt"
	"log"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/words/hemera"
)

// A piece is pending while it is written. Sealed, it has a checksum of each page, and a byte that changed on the device
// is never returned.
func ExampleOpen() {
	memory := vfs.NewMemory(16<<20, time.Now)
	if _, err := disk.Format(memory, "/"); err != nil {
		log.Fatal(err)
	}
	faulty := vfs.NewFaulty(memory)
	d, err := disk.Open(faulty, "/", disk.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()

	id := hemera.PieceID{File: 42, Gen: 1, Index: 0}
	w, err := d.Create(id, disk.CreateOptions{Path: "/exp/run1.data", Layout: hemera.Replica(2)})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WritePages([]byte("the first event"), nil, 0); err != nil {
		log.Fatal(err)
	}
	_, err = d.Open(id)
	fmt.Println("pending:", err)
	if _, err := w.Seal(hemera.SealInfo{FileSize: 15, Sync: true}); err != nil {
		log.Fatal(err)
	}

	r, err := d.Open(id)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	p := make([]byte, 5)
	if _, err := r.ReadPages(p, nil, 4); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("sealed: %q of %d bytes of %s\n", p, r.Stat().Size, r.Stat().Path)
	faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Flip: true})
	_, err = r.ReadPages(p, nil, 4)
	fmt.Println("a bit flipped:", err)
	// Output:
	// pending: disk.Open 0000002a.1.0 on /: open /0/0000002a.1.0: file does not exist
	// sealed: "first" of 15 bytes of /exp/run1.data
	// a bit flipped: disk.Read 0000002a.1.0 on /: page at offset 0: bytes do not match their checksum
}
