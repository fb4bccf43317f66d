package vfs_test

import (
	"fmt"
	"log"
	"os"
	"syscall"
	"time"

	"hemera/platform/vfs"
)

// Unsynced content is lost after a power cut; a name stays only if its directory was synced too.
func ExampleMemory_Crash() {
	disk := vfs.NewMemory(1<<20, time.Now)
	f, err := disk.Open("/piece", os.O_RDWR|os.O_CREATE)
	if err != nil {
		log.Fatal(err)
	}
	write := func(p string, off int64) {
		if _, err := f.WriteAt([]byte(p), off); err != nil {
			log.Fatal(err)
		}
	}
	write("durable", 0)
	if err := f.Sync(); err != nil {
		log.Fatal(err)
	}
	if err := disk.SyncDir("/"); err != nil {
		log.Fatal(err)
	}
	write(" and lost", 7)
	disk.Crash(func() bool { return false }) // keeps no unsynced change

	info, err := disk.Stat("/piece")
	fmt.Println(info.Size, err)
	// Output: 7 <nil>
}

// A device that reports an error at the second write, once, and works again.
func ExampleFaulty() {
	disk := vfs.NewFaulty(vfs.NewMemory(1<<20, time.Now))
	disk.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpWrite}, Pattern: "piece", Skip: 1, Count: 1, Err: syscall.EIO})
	f, err := disk.Open("/piece", os.O_RDWR|os.O_CREATE)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for i := range 3 {
		_, err := f.WriteAt([]byte("data"), int64(4*i))
		fmt.Println(err)
	}
	fmt.Println(disk.Calls(vfs.OpWrite), "writes")
	// Output:
	// <nil>
	// write /piece: input/output error
	// <nil>
	// 3 writes
}
