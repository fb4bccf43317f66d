package tapescale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// Options say what is measured.
type Options struct {
	Dir          string // an empty directory on the disk to measure
	Small, Large int64  // files
	Calls        int    // of each operation, at most; 0: each has a number of its own
	Progress     io.Writer
}

// Row is one operation in both catalogues.
type Row struct {
	Name         string
	Of           int64 // files of one call; 0: it is a call
	Small, Large Latency
}

// Latency is the time of calls.
type Latency struct {
	Calls       int
	Median, P99 time.Duration
}

// Result has the figures of a run.
type Result struct {
	Small, Large, Jobs int64 // files, and jobs that wait in the large one
	LoadTime           time.Duration
	StoreBytes         int64 // of the large one on disk
	Rows               []Row
}

// Run loads both catalogues and measures all operations, those of the small and the large one in turn.
func Run(ctx context.Context, o Options) (r Result, err error) {
	r.Small, r.Large = o.Small, o.Large
	// Both are open at the same time, so each has half of what the machine gives.
	var both [2]*catalogue
	// The small one first: a mistake shows before the long load.
	for i, files := range []int64{o.Small, o.Large} {
		if both[i], err = open(ctx, filepath.Join(o.Dir, fmt.Sprint(i)), files); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, both[i].close()) }()
		fmt.Fprintf(o.Progress, "%d files loaded in %s, %d MB\n", files, both[i].loaded.Round(time.Millisecond), both[i].bytes/1e6)
	}
	// For the head of the table: how large "large" is.
	r.LoadTime, r.StoreBytes = both[1].loaded, both[1].bytes
	r.Jobs = both[1].shape.Tape.Archive + both[1].shape.Tape.Recall
	// In their order: the last ones take jobs away that the first ones list.
	for _, op := range operations() {
		if o.Calls > 0 {
			op.times = min(op.times, o.Calls)
		}
		row, err := measure(ctx, op, both)
		if err != nil {
			return r, fmt.Errorf("%s: %w", op.name, err)
		}
		r.Rows = append(r.Rows, row)
		fmt.Fprintf(o.Progress, "%s: %s, %s\n", op.name, row.Small.Median, row.Large.Median)
	}
	return r, nil
}

// enough is after what time an operation is not repeated for a catalogue, unless it was called a few times only.
const enough, fewest = 20 * time.Second, 5

// measure calls an operation for both in turn, so that both meet the same neighbours on the machine.
func measure(ctx context.Context, op operation, both [2]*catalogue) (row Row, err error) {
	row = Row{Name: op.name, Of: op.of}
	var took [2][]time.Duration
	r := rand.New(rand.NewPCG(1, 2))
	// Of both together, so that a slow large one does not leave the small one with few calls.
	total := time.Duration(0)
	// The same seed in every run: results of two runs are of the same files.
	for n := range op.times {
		if total > enough && n >= fewest {
			break
		}
		// One after the other: neither waits for the other's syncs.
		for i, c := range both {
			begun := time.Now()
			if err := op.do(ctx, c, r); err != nil {
				return row, err
			}
			took[i] = append(took[i], time.Since(begun))
			total += took[i][n]
		}
	}
	row.Small, row.Large = latency(took[0]), latency(took[1])
	return row, nil
}

// latency sums up what calls took.
func latency(all []time.Duration) Latency {
	// Of few calls the worst one is the 99th percentile.
	slices.Sort(all)
	return Latency{len(all), all[len(all)/2], all[min(len(all)-1, len(all)*99/100)]}
}

// Text writes a table.
func Text(w io.Writer, r Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// One line for each operation, in the order of their run.
	fmt.Fprintf(t, "operation\t%d files: median\tp99\t%d files: median\tp99\tratio\tfiles/s\n", r.Small, r.Large)
	for _, row := range r.Rows {
		// Of the large catalogue, by the median.
		rate := ""
		if row.Of > 0 {
			rate = fmt.Sprintf("%.0f", float64(row.Of)/row.Large.Median.Seconds())
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.1f\t%s\n", row.Name, short(row.Small.Median), short(row.Small.P99), short(row.Large.Median), short(row.Large.P99),
			float64(row.Large.Median)/float64(row.Small.Median), rate)
	}
	return t.Flush()
}

// Markdown writes the table as tape/catalogue/DESIGN.md has it.
func Markdown(w io.Writer, r Result) error {
	fmt.Fprintf(w, "| | %d files: median, p99 | %d files: median, p99 | ratio | files/s |\n|---|---|---|---|---|\n", r.Small, r.Large)
	// The same columns as those of Text.
	for _, row := range r.Rows {
		rate := ""
		if row.Of > 0 {
			rate = fmt.Sprintf("%.0f", float64(row.Of)/row.Large.Median.Seconds())
		}
		if _, err := fmt.Fprintf(w, "| %s | %s, %s | %s, %s | %.1f | %s |\n", row.Name, short(row.Small.Median), short(row.Small.P99), short(row.Large.Median), short(row.Large.P99),
			float64(row.Large.Median)/float64(row.Small.Median), rate); err != nil {
			return err
		}
	}
	return nil
}

// short rounds a duration to three digits.
func short(d time.Duration) string {
	// Durations are rounded in their own units, so 12.3456ms are 12.3ms.
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// Temporary runs with a directory of its own below dir, and removes it.
func Temporary(ctx context.Context, dir string, o Options) (r Result, err error) {
	// The store of ten million files takes gigabytes, so it is never left behind.
	if o.Dir, err = os.MkdirTemp(dir, "hemera-tapescale"); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	return Run(ctx, o)
}
