package emulated_test

import (
	"context"
	"fmt"
	"os"

	"hemera/tape/device"
	"hemera/tape/device/emulated"
)

// A library with one drive: a cartridge is mounted, written, and read.
func Example() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// V00001L9
	// hello, then: a filemark was read
	// 26s
}

// example does the work, so that errors end it.
func example() error {
	dir, err := os.MkdirTemp("", "library")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := emulated.Create(dir, emulated.Spec{Drives: 1, Slots: 5, Cartridges: 3, Capacity: 1 << 30}); err != nil {
		return err
	}
	l, err := emulated.Open(dir, emulated.Options{}) // nobody waits
	if err != nil {
		return err
	}
	defer l.Close()
	ctx := context.Background()
	// The first full slot, and the drive.
	elements, err := l.Changer().Inventory(ctx)
	if err != nil {
		return err
	}
	slot, drive := 0, 0
	for _, e := range elements {
		if slot == 0 && e.Full {
			fmt.Println(e.Barcode)
			slot = e.Address
		}
		if e.Kind == device.ElementDrive {
			drive = e.Address
		}
	}
	if err := l.Changer().Move(ctx, slot, drive); err != nil {
		return err
	}
	t, err := l.Drives()[0].Load(ctx)
	if err != nil {
		return err
	}
	took := l.Elapsed()
	if err := t.WriteBlock(ctx, []byte("hello")); err != nil {
		return err
	}
	if err := t.WriteMarks(ctx, 1, false); err != nil { // durable now
		return err
	}
	if err := t.Locate(ctx, 0); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	n, err := t.ReadBlock(ctx, buf)
	if err != nil {
		return err
	}
	_, err = t.ReadBlock(ctx, buf)
	fmt.Printf("%s, then: %v\n%v\n", buf[:n], err, took) // what a real library would have taken to mount
	return nil
}
