package scale

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hemera/measure/nsload"
	"hemera/process/statedir"
	"hemera/words/hemera"
)

// Options say what is measured.
type Options struct {
	Dir        string        // an empty directory on the disk to measure
	Sizes      []int64       // files in the namespace at each measurement, growing
	CacheBytes int64         // of the manager
	Time       time.Duration // of each load
	Progress   io.Writer
}

// Tree is one loaded tree.
// Its shape alone tells every path, so children need no list of files.
type Tree struct {
	Path  string
	Shape nsload.Shape
}

// Run loads and measures. Each measurement is done by a new process of this program, called with the word
// "child" (see [Child]), so that a process's memory is that of a manager alone.
// visit gets each result as soon as it is complete; an error of it ends the run. The store grows through all sizes, so the sizes must grow too.
func Run(ctx context.Context, o Options, visit func(Result) error) error {
	var trees []Tree
	files := int64(0)
	for i, size := range o.Sizes {
		tree := treeOf(i, size-files) // what is missing to the size
		started, cpu := time.Now(), processCPU()
		if err := load(ctx, o.Dir, tree); err != nil {
			return err
		}
		r := Result{Files: size, LoadFiles: size - files, LoadTime: time.Since(started), LoadCPU: processCPU() - cpu, Load1Before: loadAverage()}
		fmt.Fprintf(o.Progress, "%d files, the last %d loaded in %s\n", size, size-files, r.LoadTime)
		files = size
		trees = append(trees, tree)
		if err := o.measure(ctx, trees, &r); err != nil {
			return err
		}
		r.Load1After = loadAverage()
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

// treeOf returns the i-th tree: the first is one wide directory, and the largest below 30 M files a deep one.
// Both shapes are met at sites: millions of files in one directory, and deep trees of small ones.
func treeOf(i int, files int64) Tree {
	shape := nsload.Shape{Files: files, Size: 100 << 20, Disks: []hemera.DiskID{1, 3, 5, 2, 4, 6}, Seed: uint64(i)}
	// All files of a wide tree are in its top.
	switch {
	case i == 0:
		shape.FilesPerDir = files
	case files <= 10_000_000:
		shape.FilesPerDir, shape.DirsPerDir = 100, 10
	}
	return Tree{fmt.Sprintf("/load%d", i), shape}
}

// load makes the tree in a new store.
// The manager must not run: the store has one owner.
func load(ctx context.Context, dir string, tree Tree) (err error) {
	store, err := statedir.Open(dir, true, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, err = nsload.Load(ctx, store, nsload.Options{Path: tree.Path, Shape: tree.Shape})
	return err
}

// measure starts the manager twice. The first start is the clean one, and ends with a kill. The second is the start after a kill,
// and the process that measures.
func (o Options) measure(ctx context.Context, trees []Tree, r *Result) error {
	spec := childSpec{Dir: o.Dir, Trees: trees, CacheBytes: o.CacheBytes, Time: o.Time, Kill: true}
	var killed Result
	if err := o.child(ctx, spec, &killed); err != nil {
		return err
	}
	spec.Kill = false
	if err := o.child(ctx, spec, r); err != nil {
		return err
	}
	// The second child counted its start as a clean one; here each gets its name.
	r.BootKilled, r.BootClean = r.BootClean, killed.BootClean
	r.KilledCPU, r.BootCPU = r.BootCPU, killed.BootCPU
	return nil
}

// child runs one child on a store that has nothing in the page cache.
// A child that is to be killed ends with an error, which is as it should be.
func (o Options) child(ctx context.Context, spec childSpec, into *Result) error {
	if err := Evict(o.Dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// The child adds to what is known so far and returns all of it.
	spec.Result = *into
	input, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	c := exec.CommandContext(ctx, self, "child")
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(input), &out, o.Progress
	err = c.Run()
	if err != nil && !spec.Kill {
		return fmt.Errorf("the measuring process: %w", err)
	}
	return json.Unmarshal(out.Bytes(), into)
}

// Evict drops a directory's files from the page cache, and nothing of others.
// A file is synced first, since dirty pages stay. The caller must be able to read the files.
func Evict(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreGone(err)
		}
		f, err := os.Open(path)
		if err != nil {
			return ignoreGone(err)
		}
		defer func() { _ = f.Close() }()
		return errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	})
}

// ignoreGone passes over files that the store removed meanwhile.
// A running manager removes files of its store at any time.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// processCPU returns the time that this process has used, all threads. Both the program and the kernel count. An error
// gives 0.
func processCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// loadAverage returns the other load of the machine, over one minute. A reader of the figures sees from it how quiet the
// machine was.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
