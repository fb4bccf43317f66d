package ns

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/measure/nsload"
	"hemera/platform/kv"
	"hemera/process/config"
	"hemera/process/statedir"
	"hemera/words/hemera"
)

// countValue is a flag with a number such as 1500, 20k, 100M or 1G, with powers of 1000. It is at most 2^40.
type countValue int64

// String implements pflag.Value.
func (v *countValue) String() string { return strconv.FormatInt(int64(*v), 10) }

// Type implements pflag.Value. It returns the word for the value in --help.
func (v *countValue) Type() string { return "count" }

// Set implements pflag.Value.
func (v *countValue) Set(text string) error {
	n, ok := cli.ParseCount(text, 1<<40)
	if !ok {
		return fmt.Errorf("%q is not a number; write it like 1500, 20k or 100M", text)
	}
	*v = countValue(n)
	return nil
}

// loadFlags has the flags of ns load: the shape of the tree and its files. nsload.Shape has the same in other types.
type loadFlags struct {
	files, filesPerDir, dirsPerDir countValue       // counts
	path, size                     string           // the top, and the mean size
	space                          hemera.SpaceName // in the records
	replicas                       int              // pieces of each file
	seed                           uint64           // equal seeds make equal trees
	uid, gid                       uint32           // owner of everything
}

// nsLoadCommand makes `hemera ns load`. It works on a state directory: the tree is written without the commits of a
// manager, in the order of its keys.
func nsLoadCommand(e *cli.Env) *cobra.Command {
	o := loadFlags{files: 1e6, filesPerDir: 1000, dirsPerDir: 1000}
	c := &cobra.Command{
		Use: "load DIR", Short: "Fill a manager's namespace with many files, to measure with", Args: cobra.ExactArgs(1),
		Long: `Makes a tree of very many files in the namespace below the state directory DIR of a manager,
or of hemera up, that does not run; without one there a new one is made. It is for measuring:
the files can be listed, renamed and removed, but no disk has their bytes, so that reading
one fails and fsck report names them missing. Do not load into a cluster you need.

The tree begins at --path, which must not be there yet: directories set000000/… of
--dirs-per-dir directories each, in them run000000/… with --files-per-dir files
evt-000000.root/… each. Files have from half of --size to one and a half, a checksum and
--replicas pieces on the disks the cluster knows; if it knows none, files are empty and have
no pieces, and the command prints that. Equal flags and --seed make equal trees.

All of it becomes visible at the end, at once. An interrupted command leaves only a directory that
the next opening of the store removes. The store grows by about 40 bytes a file.`,
		Example: `  hemera ns load hemera-data --files 10M
  hemera ns load /var/lib/hemera --files 1M --files-per-dir 1M --path /wide
  hemera ns load hemera-data --files 10M --files-per-dir 100 --dirs-per-dir 10 --path /deep`,
		RunE: func(c *cobra.Command, args []string) error { return nsLoad(c.Context(), e, args[0], o) },
	}
	f := c.Flags()
	f.Var(&o.files, "files", "number of files; k, M and G are thousands, millions and billions") // at most 2^40
	f.Var(&o.filesPerDir, "files-per-dir", "files in a directory of files")                      // the leaves of the tree
	f.Var(&o.dirsPerDir, "dirs-per-dir", "directories in a directory of directories; a small number makes the tree deep")
	f.StringVar(&o.path, "path", "/load", "the `directory` at the tree's top") // must not exist
	f.StringVar(&o.size, "size", "1MiB", "mean `size` of a file")              // no bytes are written, only the records
	f.IntVar(&o.replicas, "replicas", 2, "pieces of a file")
	f.StringVar((*string)(&o.space), "space", string(hemera.DefaultSpace), "the `space` files say they are in")
	f.Uint64Var(&o.seed, "seed", 0, "chooses sizes, times and checksums") // equal seeds, equal trees
	f.Uint32Var(&o.uid, "uid", 0, "`uid` of the owner of everything")
	f.Uint32Var(&o.gid, "gid", 0, "`gid` of everything")
	return c
}

// nsLoad opens the store, which no manager may have open, and loads a tree of the given shape. It returns the error of
// Close if nothing failed before, because then records may be lost.
func nsLoad(ctx context.Context, e *cli.Env, dir string, o loadFlags) (err error) {
	size, err := config.ParseBytes(o.size)
	if err != nil {
		return cli.Usage(err)
	}
	store, err := statedir.Open(dir, true, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
	}()
	shape := nsload.Shape{
		Files: int64(o.files), FilesPerDir: int64(o.filesPerDir), DirsPerDir: int64(o.dirsPerDir), Size: int64(size),
		Replicas: o.replicas, Seed: o.seed, UID: o.uid, GID: o.gid, Space: o.space,
	}
	if shape.Disks, err = statedir.Disks(ctx, store); err != nil { // of every space
		return err
	}
	// Pieces need disks.
	if len(shape.Disks) == 0 && shape.Size > 0 {
		fmt.Fprintln(e.Err, "hemera: the cluster knows no disks: files are empty and have no pieces")
		shape.Size = 0
	}
	return loadTree(ctx, e, store, nsload.Options{Path: o.path, Shape: shape})
}

// loadTree loads with a progress line and prints the result. The loader's goroutines report progress, so the count is
// atomic.
func loadTree(ctx context.Context, e *cli.Env, store kv.Store, o nsload.Options) error {
	started := e.Now()
	var done atomic.Int64
	o.Progress = done.Store
	stop := e.Follow(func() string { return countLine(done.Load(), o.Shape.Files, e.Now().Sub(started)) })
	tree, err := nsload.Load(ctx, store, o)
	stop()
	if err != nil {
		return err
	}
	return printLoaded(e, o.Path, tree, loadTook{e.Now().Sub(started), store.Stats().Bytes})
}

// loadTook has the duration of a load and the size of the store after it, in bytes.
type loadTook struct {
	time  time.Duration
	bytes int64
}

// printLoaded prints the result of a load, including the top directory.
func printLoaded(e *cli.Env, path string, tree hemera.TreeTotals, took loadTook) error {
	seconds := max(took.time.Seconds(), 1e-3)
	r := output.Record{
		{Key: "path", Value: path}, {Key: "files", Value: tree.Files}, {Key: "directories", Value: tree.Dirs + 1},
		{Key: "bytes", Value: tree.Bytes}, {Key: "physical_bytes", Value: tree.Physical},
		{Key: "seconds", Value: seconds}, {Key: "files_per_second", Value: float64(tree.Files) / seconds},
		{Key: "store_bytes", Value: took.bytes}, {Key: "store_bytes_per_file", Value: float64(took.bytes) / float64(tree.Files)}, // of the whole store, after the load
	}
	return e.Printer().One(cli.ColumnsOf(r), r)
}

// countLine returns a progress line about files: a bar, the number, the rate and the time left. total is the requested
// number.
func countLine(done, total int64, took time.Duration) string {
	rate := float64(done) / max(took.Seconds(), 1e-3)
	b := fmt.Sprintf("%s  %d of %d files  %.0f/s", cli.Bar(cli.Percent(done, total), 24), done, total, rate)
	if rate > 0 && done < total {
		b += "  " + output.Seconds(float64(total-done)/rate) + " to go"
	}
	return b
}
