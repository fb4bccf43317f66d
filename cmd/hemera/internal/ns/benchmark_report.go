package ns

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/measure/nsbench"
	"hemera/measure/report"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// benchmarkTeller shows a run: a progress line during it, tables or records at the end. Goroutines share only the
// terminal: the other fields belong to the one that runs the benchmark.
type benchmarkTeller struct {
	e       *cli.Env
	request adminapi.BenchmarkRequest // the shape
	wire    wireOptions               // the flags of a run through the door
	plot    *os.File                  // nil: none wanted
	setup   adminapi.BenchmarkSetup   // the machine of the manager; zero if unknown
	relaxed bool                      // the current run is relaxed
	rows    []benchmarkRow            // results so far

	mu     sync.Mutex // guards the terminal
	moving bool       // a progress line is on the terminal
	ending bool       // no progress line is drawn any more
}

// benchmarkRow is the result of one phase. relaxed: its answers did not wait for the disk. Rows are in the order of the
// phases, durable ones first.
type benchmarkRow struct {
	adminapi.BenchmarkResult
	relaxed bool
}

// cpuPerOp returns the processor time of one operation of any kind; 0 if unknown. It is the time of the whole process,
// divided, so other work of the manager is included.
func (r benchmarkRow) cpuPerOp() time.Duration {
	ops := r.Main.Ops
	if r.Dirs != nil {
		ops += r.Dirs.Ops
	}
	return r.CPU / time.Duration(max(ops, 1))
}

// update handles one message of a run: the setup, a result or progress. The goroutine that receives the run's messages
// calls it. An error ends the run.
func (t *benchmarkTeller) update(u adminapi.BenchmarkUpdate) error {
	switch {
	case u.Setup != nil:
		t.setup = *u.Setup
	case u.Result != nil:
		t.rows = append(t.rows, benchmarkRow{*u.Result, t.relaxed})
	case u.Progress != nil && t.e.Live:
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.ending {
			return nil
		}
		t.moving = true
		_, err := io.WriteString(t.e.Err, cli.ClearLine+cli.Fitted(t.e.OutWidth(), cli.BarForms(func(bar int) string { return benchmarkLine(*u.Progress, bar) })))
		return err
	}
	return nil
}

// say prints a line, after which no progress line is drawn. It is called when the command is interrupted.
func (t *benchmarkTeller) say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
	t.ending = true
	fmt.Fprintln(t.e.Err, "hemera: "+text)
}

// clear erases the progress line. The caller holds mu.
func (t *benchmarkTeller) clear() {
	if t.moving {
		_, _ = io.WriteString(t.e.Err, cli.ClearLine)
		t.moving = false
	}
}

// benchmarkLine returns the progress line, with a bar of width characters, so that it fits any terminal.
func benchmarkLine(p adminapi.BenchmarkProgress, width int) string {
	line := fmt.Sprintf("%-8s  %s  %d of %d  %s/s", p.Phase, cli.Bar(cli.Percent(p.Done, p.Total), width), p.Done, p.Total, significant(p.Rate))
	if p.Rate > 0 && p.Done < p.Total {
		line += "  " + output.Seconds(float64(p.Total-p.Done)/p.Rate) + " to go"
	}
	return line
}

// end prints the results, also of a failed run, and returns the error of the command. An interrupted run keeps the rows
// of the phases that ended.
func (t *benchmarkTeller) end(err error) error {
	t.mu.Lock()
	t.clear()
	t.mu.Unlock()
	if plotErr := t.draw(); err == nil { // the run's own error precedes it
		err = plotErr
	}
	if len(t.rows) == 0 {
		return err
	}
	if !t.e.ForPrograms() {
		if tableErr := t.tables(); tableErr != nil {
			return tableErr
		}
		return t.failed(err)
	}
	s := t.e.Stream(nil)
	for _, r := range t.rows {
		if err := s.Add(t.record(r)); err != nil {
			return err
		}
	}
	if err = t.failed(err); err != nil {
		return err
	}
	return s.Close()
}

// failed prints the failures of operations, and returns an error if there are any. Texts come from servers. Each kind of
// failure is printed once for a phase.
func (t *benchmarkTeller) failed(err error) error {
	if err != nil {
		return err
	}
	var count int64
	for _, r := range t.rows {
		count += r.Main.Errors
		if r.Dirs != nil {
			count += r.Dirs.Errors
		}
		for _, f := range r.Failures {
			fmt.Fprintf(t.e.Err, "hemera: %s: %s\n", r.Phase, output.Visible(f.Text))
			if f.Remedy != "" {
				fmt.Fprintf(t.e.Err, "  what to do: %s\n", f.Remedy)
			}
		}
	}
	if count == 0 {
		return nil
	}
	return errs.New(errs.Internal, "hemera.Benchmark", "", output.Count(count, "operation")+" failed; rates count those that succeeded")
}

// draw writes the plot, or removes the file if there is nothing to draw. The heading has the shape and the setup, because
// a picture is often seen alone.
func (t *benchmarkTeller) draw() error {
	if t.plot == nil {
		return nil
	}
	if len(t.rows) == 0 {
		return os.Remove(t.plot.Name())
	}
	sheet := report.Panels{Heading: []string{"hemera ns benchmark: latency", t.shapeLine(), t.setupLine()}, LogY: true, Tick: decade}
	for _, r := range t.rows {
		title := fmt.Sprintf("%s, %s/s", r.Phase, significant(perSecond(r.Main.Ops, r.Time)))
		if r.relaxed {
			title += " (relaxed)"
		}
		sheet.Panels = append(sheet.Panels, latencyPanel(title, r.Series))
	}
	_, err := t.plot.Write(sheet.SVG())
	return errs.Wrap(err, "hemera.Plot", t.plot.Name())
}

// published returns the rates of CERN's talk of 2024, by shape (threads, subdirectories, files) and phase, in operations
// per second. The first shape ran in a virtual machine, the others on hardware.
func published() map[[3]int][]float64 {
	return map[[3]int][]float64{
		{100, 10, 10}:  {4000, 1600, 1600, 16000, 15000, 34000}, // mkdir, create, exists, read, write, deletion
		{100, 1, 100}:  {1600, 2800, 43000, 35000, 34000, 2900},
		{1000, 1, 100}: {1300, 2750, 37000, 29000, 28000, 2600},
	}
}

// eosRate returns the published rate of a phase in this run's shape, or 0 for other shapes.
func (t *benchmarkTeller) eosRate(phase string) float64 {
	if t.wire.on {
		return 0 // CERN's are measured inside the manager
	}
	rates := published()[[3]int{t.request.Threads, t.request.Subdirs, t.request.Files}]
	for i, name := range nsbench.Phases() {
		if name == phase && rates != nil {
			return rates[i]
		}
	}
	return 0
}

// perSecond returns a rate, and 0 for no time.
func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// record returns a phase for programs. Latencies are in microseconds. durable is false for a relaxed run.
func (t *benchmarkTeller) record(r benchmarkRow) output.Record {
	rec := output.Record{
		{Key: "phase", Value: r.Phase}, {Key: "unit", Value: cli.OnOff(r.Phase == "mkdir", "dirs", "files")},
		{Key: "where", Value: cli.OnOff(t.wire.on, "wire", "inside")}, {Key: "durable", Value: !r.relaxed}, // through the door, or inside the manager
		{Key: "threads", Value: t.request.Threads}, {Key: "subdirs", Value: t.request.Subdirs}, {Key: "files", Value: t.request.Files},
		{Key: "depth", Value: max(t.wire.depth, 1)}, {Key: "seconds", Value: r.Time.Seconds()}, // 1 inside the manager
	}
	rec = append(rec, opsFields("", r.Main, r.Time)...)
	if cpu := r.cpuPerOp(); cpu > 0 {
		rec = append(rec, output.Field{Key: "cpu_us", Value: float64(cpu) / float64(time.Microsecond)})
	}
	if r.Dirs != nil {
		rec = append(rec, opsFields("dirs.", *r.Dirs, r.Time)...)
	}
	if eos := t.eosRate(r.Phase); eos > 0 {
		rec = append(rec, output.Field{Key: "eos.rate", Value: eos}, output.Field{Key: "eos.ratio", Value: perSecond(r.Main.Ops, r.Time) / eos})
	}
	return append(rec,
		output.Field{Key: "cores", Value: t.setup.Cores}, output.Field{Key: "disks", Value: t.setup.Disks},
		output.Field{Key: "nodes", Value: t.setup.Nodes}, output.Field{Key: "layout", Value: t.setup.Layout.String()})
}

// opsFields returns the counts, rate and latencies of one kind of operation.
func opsFields(prefix string, o adminapi.BenchmarkOps, took time.Duration) output.Record {
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	return output.Record{
		{Key: prefix + "ops", Value: o.Ops}, {Key: prefix + "errors", Value: o.Errors}, {Key: prefix + "rate", Value: perSecond(o.Ops, took)},
		{Key: prefix + "p50_us", Value: micros(o.P50)}, {Key: prefix + "p99_us", Value: micros(o.P99)},
		{Key: prefix + "p999_us", Value: micros(o.P999)}, {Key: prefix + "max_us", Value: micros(o.Max)},
	}
}

// shapeLine returns a line about the shape and the way of the run.
func (t *benchmarkTeller) shapeLine() string {
	r := t.request
	base, _ := nsbench.BaseOf(r.Prefix)
	line := fmt.Sprintf("%d threads x %d subdirs x %d files = %d files in %s", r.Threads, r.Subdirs, r.Files, r.Threads*r.Subdirs*r.Files, base)
	if !t.wire.on {
		return line + ", inside the manager"
	}
	return fmt.Sprintf("%s, through %s, one session a thread, depth %d", line, t.e.ClusterURL(), t.wire.depth)
}

// setupLine returns a line about the setup on which the results depend: cores, disks, nodes and layout. With --wire and
// without an admin's rights the setup is unknown.
func (t *benchmarkTeller) setupLine() string {
	s := t.setup
	if s.Cores == 0 {
		return "the cluster is another machine's: its cores and disks are not known here"
	}
	return fmt.Sprintf("%s, %s on %s, layout %s", output.Count(int64(s.Cores), "core"), output.Count(int64(s.Disks), "disk"),
		output.Count(int64(s.Nodes), "node"), s.Layout)
}

// tables prints the lines about the run, a table for each kind of run, and an explanation of the columns.
func (t *benchmarkTeller) tables() error {
	w := t.e.Out
	fmt.Fprintf(w, "%s\n%s\n", t.shapeLine(), t.setupLine())
	for _, relaxed := range []bool{false, true} {
		var rows []benchmarkRow
		for _, r := range t.rows {
			if r.relaxed == relaxed {
				rows = append(rows, r)
			}
		}
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintln(w, cli.OnOff(relaxed, "\nrelaxed: answers do not wait for the disk", "\ndurable: every change is on the disk before its answer"))
		if err := t.table(rows); err != nil {
			return err
		}
	}
	if t.wire.on {
		const toNode = "at the manager, then opened and closed at the node"
		const atManager = "the manager's answer, which is the node to go to"
		fmt.Fprintf(w, "\ncreate: %s\nread: %s\nwrite: %s\n", toNode, cli.OnOff(t.wire.full, toNode, atManager),
			cli.OnOff(t.wire.locks, atManager+"; locks are given back after the phase, unmeasured", toNode))
	}
	if t.eosRate("create") > 0 {
		fmt.Fprint(w, "\nEOS/s: what CERN published in 2024 for this shape, on another machine, with answers that do not wait for the disk\n")
	}
	return nil
}

// table prints the rows of one kind of run. The columns for CPU and EOS are there only if their values are known.
// Directories that a phase makes or removes beside its files have a separate row.
func (t *benchmarkTeller) table(rows []benchmarkRow) error {
	columns := benchmarkColumns()
	if !t.wire.on {
		columns = append(columns, output.Column{Title: "CPU/op", Key: "cpu", Show: span})
	}
	var records []output.Record
	for _, r := range rows {
		rec := benchmarkLineOf(cli.OnOff(r.Phase == "mkdir", "mkdir (dirs)", r.Phase), r.Main, r.Time)
		if cpu := r.cpuPerOp(); cpu > 0 {
			rec = append(rec, output.Field{Key: "cpu", Value: cpu.Seconds()})
		}
		if eos := t.eosRate(r.Phase); eos > 0 {
			rec = append(rec, output.Field{Key: "eos", Value: eos}, output.Field{Key: "ratio", Value: perSecond(r.Main.Ops, r.Time) / eos})
		}
		records = append(records, rec)
		if r.Dirs != nil {
			records = append(records, benchmarkLineOf(r.Phase+" (dirs)", *r.Dirs, r.Time))
		}
	}
	if t.eosRate("create") > 0 {
		columns = append(columns, output.Column{Title: "EOS/s", Key: "eos", Show: significant}, output.Column{Title: "ratio", Key: "ratio", Show: times})
	}
	return t.e.Printer().List(columns, records)
}

// benchmarkColumns returns the columns of every run. It is a function because columns are appended to the result.
func benchmarkColumns() []output.Column {
	return []output.Column{
		{Title: "phase", Key: "phase"}, {Title: "ops", Key: "ops"}, {Title: "errors", Key: "errors"},
		{Title: "time", Key: "time", Show: span}, {Title: "rate/s", Key: "rate", Show: significant},
		{Title: "p50", Key: "p50", Show: span}, {Title: "p99", Key: "p99", Show: span},
		{Title: "p99.9", Key: "p999", Show: span}, {Title: "max", Key: "max", Show: span},
	}
}

// benchmarkLineOf makes the record of one line of the table. Times are in seconds; the columns choose the unit.
func benchmarkLineOf(name string, o adminapi.BenchmarkOps, took time.Duration) output.Record {
	return output.Record{
		{Key: "phase", Value: name}, {Key: "ops", Value: o.Ops}, {Key: "errors", Value: o.Errors},
		{Key: "time", Value: took.Seconds()}, {Key: "rate", Value: perSecond(o.Ops, took)},
		{Key: "p50", Value: o.P50.Seconds()}, {Key: "p99", Value: o.P99.Seconds()},
		{Key: "p999", Value: o.P999.Seconds()}, {Key: "max", Value: o.Max.Seconds()},
	}
}

// threeDigits rounds a number to three significant digits, the precision of a benchmark. 0 stays 0.
func threeDigits(f float64) float64 {
	if f == 0 {
		return 0
	}
	step := math.Pow(10, math.Floor(math.Log10(math.Abs(f)))-2) // the place of the third digit
	return math.Round(f/step) * step
}

// span shows seconds in a suitable unit: s, ms or µs. 0 is shown as nothing, because it means that nothing was measured.
func span(v any) string {
	s, _ := v.(float64)
	if s = threeDigits(s); s == 0 {
		return ""
	}
	for _, u := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}} {
		// Rounding must not turn 1 ms into 1000 µs.
		if s >= 0.9999*u.size || u.name == "µs" {
			return strconv.FormatFloat(threeDigits(s/u.size), 'g', 4, 64) + u.name
		}
	}
	return ""
}

// significant shows a rate with three significant digits. Rates above 1000 have no fraction.
func significant(v any) string {
	f, _ := v.(float64)
	if f = threeDigits(f); f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', max(0, 2-int(math.Floor(math.Log10(f)))), 64)
}

// times shows a ratio: x1.5. nil, for no published rate, is shown as nothing.
func times(v any) string {
	if v == nil {
		return ""
	}
	return "x" + significant(v)
}
