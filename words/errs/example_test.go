package errs_test

import (
	"errors"
	"fmt"
	"io/fs"

	"hemera/words/errs"
)

// An error carries its kind through every layer, and a remedy for a person. The kind is that of the outermost error.
func Example() {
	err := errs.Wrap(fs.ErrNotExist, "disk.ReadLabel", "/data1") // the kind is the cause's
	fmt.Println(err)
	fmt.Println(errs.KindOf(err), errors.Is(err, errs.NotFound), errors.Is(err, fs.ErrNotExist))

	outer := errs.As(err, errs.Unavailable, "node.OpenDisk", "fs 3")
	fmt.Println(errs.KindOf(outer), errors.Is(outer, errs.NotFound))

	full := errs.New(errs.NoSpace, "place.Choose", "space default", "no disk has room").WithRemedy("add a disk with hemera fs add")
	fmt.Println(errs.RemedyOf(errs.Wrap(full, "manager.Open", "/f")))
	// Output:
	// disk.ReadLabel /data1: file does not exist
	// not found true true
	// unavailable false
	// add a disk with hemera fs add
}

// People are told what they did and what went wrong, not which packages it went through.
func ExamplePlain() {
	fmt.Println(errs.Plain("manager.Open /exp/f: place.Choose: no disk has room"))
	// Output: open /exp/f: no disk has room
}
