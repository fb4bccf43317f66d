package scale

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Rate is the rate of an operation.
type Rate struct {
	PerSecond float64       // calls, failed ones included
	CPU       time.Duration // of the process, for one
	P50, P99  time.Duration // of the latencies that were remembered
	Failed    int64         // calls that returned an error
}

// Result has the figures of one size. Times are in nanoseconds in JSON, sizes in bytes.
type Result struct {
	Files       int64         // in the namespace
	LoadFiles   int64         // in the load that led to it
	LoadTime    time.Duration // of that load, in the parent's process
	LoadCPU     time.Duration // user and system, all threads
	StoreBytes  int64         // on disk, after the loads
	BootClean   time.Duration // with nothing of the store in the page cache
	BootCPU     time.Duration // of the child, until the manager can be asked
	BootKilled  time.Duration // the same after kill -9 while 64 clients created files
	KilledCPU   time.Duration // the same for that start
	IdleRSS     int64         // after the start, before any load
	LoadRSS     int64         // the most while the loads below ran
	CheckRSS    int64         // peak of a whole check
	StatCold    [2]Rate       // 1 and 64 clients, random files, the page cache empty at first
	StatHot     [2]Rate       // 1 and 64 clients, 20,000 files again and again
	OpenCold    [2]Rate       // for reading: access, placement, capability
	OpenHot     [2]Rate       // the same files as StatHot
	Create      [2]Rate       // open and commit, durable, in directories of the loaded trees
	Remove      [2]Rate       // of the files just created
	List        time.Duration // of the widest directory
	Listed      int64         // entries of it
	ListGrowth  int64         // of the process's memory meanwhile
	Rename      time.Duration // of a tree of RenamedFiles, durable; median of 21
	Renamed     int64         // files below it
	TreeSize    time.Duration // totals of the top of a tree; median of 21
	Check       time.Duration
	CheckCPU    time.Duration // user and system, all threads
	CheckedOK   bool          // nothing was found
	Problems    []string      // at most 20
	Load1Before string        // load averages of the machine
	Load1After  string        // after the measurements of this size
}

// row is one line of the table: what it is, and its value at a result.
// Both forms of the table share them.
type row struct {
	name  string
	value func(r *Result) string
}

// rows returns the lines of the table.
func rows() []row {
	rate := func(of func(r *Result) Rate) func(r *Result) string {
		return func(r *Result) string {
			v := of(r)
			text := fmt.Sprintf("%.0f/s, %s", v.PerSecond, micros(v.CPU))
			if v.Failed > 0 {
				text += fmt.Sprintf(" (%d failed)", v.Failed)
			}
			return text
		}
	}
	out := []row{
		{"load", func(r *Result) string {
			return fmt.Sprintf("%.0f files/s, %s", float64(r.LoadFiles)/r.LoadTime.Seconds(), micros(r.LoadCPU/time.Duration(max(1, r.LoadFiles))))
		}},
		{"store", func(r *Result) string { return fmt.Sprintf("%.2f GB", float64(r.StoreBytes)/1e9) }},
		{"store per file", func(r *Result) string { return fmt.Sprintf("%.1f B", float64(r.StoreBytes)/float64(r.Files)) }},
		{"start", func(r *Result) string { return millis(r.BootClean) + ", CPU " + millis(r.BootCPU) }},
		{"start after kill -9", func(r *Result) string { return millis(r.BootKilled) + ", CPU " + millis(r.KilledCPU) }},
		{"memory, idle", func(r *Result) string { return mebi(r.IdleRSS) }},
		{"memory, most under load", func(r *Result) string { return mebi(r.LoadRSS) }},
		{"memory, most in a check", func(r *Result) string { return mebi(r.CheckRSS) }},
	}
	for i, clients := range []string{"1 client", "64 clients"} {
		out = append(out,
			row{"stat, any file, " + clients, rate(func(r *Result) Rate { return r.StatCold[i] })},
			row{"stat, 20,000 files, " + clients, rate(func(r *Result) Rate { return r.StatHot[i] })},
			row{"open, any file, " + clients, rate(func(r *Result) Rate { return r.OpenCold[i] })},
			row{"open, 20,000 files, " + clients, rate(func(r *Result) Rate { return r.OpenHot[i] })},
			row{"create, " + clients, rate(func(r *Result) Rate { return r.Create[i] })},
			row{"remove, " + clients, rate(func(r *Result) Rate { return r.Remove[i] })},
		)
	}
	return append(out,
		row{"ls of 1 M names", func(r *Result) string {
			return fmt.Sprintf("%.2f s, +%s", r.List.Seconds(), mebi(r.ListGrowth))
		}},
		row{"mv of a tree", func(r *Result) string {
			return fmt.Sprintf("%d µs (%.0f M files)", r.Rename.Microseconds(), float64(r.Renamed)/1e6)
		}},
		row{"du of a tree", func(r *Result) string { return fmt.Sprintf("%d µs", r.TreeSize.Microseconds()) }},
		row{"check", func(r *Result) string {
			return fmt.Sprintf("%.1f s, CPU %.1f s%s", r.Check.Seconds(), r.CheckCPU.Seconds(), map[bool]string{true: "", false: " NOT HEALTHY"}[r.CheckedOK])
		}},
	)
}

// millis writes a duration in milliseconds.
func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// micros returns the CPU time of one operation.
func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }

// mebi writes bytes in MiB.
func mebi(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// Text writes the results as a table, a column a size.
func Text(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	write(t, results)
	return t.Flush()
}

// Markdown writes the same for a page.
func Markdown(w io.Writer, results []Result) error {
	fmt.Fprint(w, "| files |")
	for _, r := range results {
		fmt.Fprintf(w, " %.0f M |", float64(r.Files)/1e6)
	}
	fmt.Fprint(w, "\n|---|")
	for range results {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
	for _, x := range rows() {
		fmt.Fprintf(w, "| %s |", x.name)
		for i := range results {
			fmt.Fprintf(w, " %s |", x.value(&results[i]))
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// write prints the table with its columns separated by tabs, for a tabwriter.
func write(w io.Writer, results []Result) {
	const begin, between, end = "", "\t", "\t\n"
	fmt.Fprint(w, begin, "files")
	for _, r := range results {
		fmt.Fprintf(w, "%s%.0f M", between, float64(r.Files)/1e6)
	}
	fmt.Fprint(w, end)
	for _, x := range rows() {
		fmt.Fprint(w, begin, x.name)
		for i := range results {
			fmt.Fprint(w, between, x.value(&results[i]))
		}
		fmt.Fprint(w, end)
	}
}
