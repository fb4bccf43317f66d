package tape

import (
	"fmt"
	"os"

	"hemera/words/errs"
)

// Options has the settings of a run.
type Options struct {
	Directories []string // each is a disk
	Program     string   // hemera: the run starts a cluster of it
	State       string   // parent of a new directory for the cluster's state; "" is that for temporary files
	Drives      []int    // how many at once, for large files
	Size        int64    // bytes of large files for each drive
	FileSize    int64    // of a large file
	Small       []int64  // sizes of small files
	SmallFiles  int      // how many of them
	// Plain measures small files also without containers.
	Plain      bool
	Iterations int
}

// Limits of options, so that typing errors are found.
const (
	drivesMax     = 16
	iterationsMax = 100
	filesMax      = 1_000_000
)

// Check fails with Invalid if an option is not usable.
func (o *Options) Check() error {
	invalid := func(what, why string) error { return errs.New(errs.Invalid, "tape.Options", what, why) }
	// Numbers first, because they need no access to the disks.
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
	// None means a run of small files alone.
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
	// A missing disk would otherwise be made on another one.
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

// most returns the largest number of drives of all tests.
func (o *Options) most() int {
	most := 1 // for small files
	for _, n := range o.Drives {
		most = max(most, n)
	}
	return most
}
