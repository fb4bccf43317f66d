package tape

import (
	"fmt"
	"os"

	"hemera/words/errs"
)

// Options are what is measured.
type Options struct {
	Directories []string // each is a disk
	Program     string   // hemera: a cluster of it is started
	State       string   // where the state of the cluster goes, in a new directory; "" is that for temporary files
	Drives      []int    // how many at once, for large files
	Size        int64    // bytes of large files for each drive
	FileSize    int64    // of a large file
	Small       []int64  // sizes of small files
	SmallFiles  int      // how many of them
	// Plain measures small files without containers too.
	Plain      bool
	Iterations int
}

// Limits of options, so that a slip of the keyboard is an error.
const (
	drivesMax     = 16
	iterationsMax = 100
	filesMax      = 1_000_000
)

// Check judges the options. Invalid, with what is wrong.
func (o *Options) Check() error {
	invalid := func(what, why string) error { return errs.New(errs.Invalid, "tape.Options", what, why) }
	// Numbers first: they need no look at the disks.
	switch {
	case len(o.Directories) == 0:
		return invalid("directories", "name the directories that are to be disks")
	case o.Size < 1<<20 || o.FileSize < 1<<20 || o.FileSize > o.Size:
		return invalid("size", "large files have 1 MiB at least, and no more than all of them")
	case o.Iterations < 1 || o.Iterations > iterationsMax:
		return invalid("iterations", fmt.Sprintf("it takes 1 to %d", iterationsMax))
	case o.SmallFiles < 1 || o.SmallFiles > filesMax:
		return invalid("small files", fmt.Sprintf("it takes 1 to %d", filesMax))
	}
	// None is a run of small files alone.
	for _, n := range o.Drives {
		if n < 1 || n > drivesMax {
			return invalid("drives", fmt.Sprintf("it takes 1 to %d", drivesMax))
		}
	}
	// Several sizes are measured one after the other.
	for _, size := range o.Small {
		if size < 1 || size > o.FileSize {
			return invalid("small", "a small file has a byte at least, and is smaller than a large one")
		}
	}
	// A disk that is not there would be made on another one.
	for _, dir := range o.Directories {
		st, err := os.Stat(dir)
		if err != nil {
			return errs.Wrap(err, "tape.Options", dir)
		}
		if !st.IsDir() {
			return invalid(dir, "is no directory")
		}
	}
	return nil
}

// most is the largest number of drives of all tests.
func (o *Options) most() int {
	most := 1 // for small files
	for _, n := range o.Drives {
		most = max(most, n)
	}
	return most
}
