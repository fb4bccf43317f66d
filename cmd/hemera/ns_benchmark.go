package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/admin"
	"hemera/cmd/hemera/internal/output"
	"hemera/errs"
	"hemera/nsbench"
)

type benchmarkOptions struct {
	hemera.BenchmarkRequest
	wire  wireOptions
	clean bool
}

func nsBenchmarkCommand(e *env) *cobra.Command {
	var o benchmarkOptions
	c := &cobra.Command{
		Use: "benchmark <threads> <subdirs> <files> [prefix]", Short: "Measure the namespace as CERN's ns benchmark does",
		Args: cobra.MaximumNArgs(4),
		Long: `Measures the namespace with empty files: each of so many threads makes so many
subdirectories with so many files each, in a directory of its own below <prefix>/benchmark.
Phases follow one another, and in each all threads start together:

  mkdir     make the directories
  create    make the files: placement, capability, lock, commit
  exists    make them all again, and be told that they exist
  read      open every file to read: access, placement, capability
  write     open every file to change it, and free the lock again
  deletion  remove everything

The manager runs it within itself, as EOS does, so that no network is in the figures. Unlike
there, an operation counts only when it has succeeded and its change is on the disk.
--relaxed measures the same once more with answers that do not wait for the disk, as EOS's
answers do not. Nobody else should use the cluster meanwhile.`,
		Example: `  hemera ns benchmark 100 10 10
  hemera ns benchmark 1000 1 100 --relaxed    the shape of CERN's published figures
  hemera ns benchmark 16 10 100 /scratch -j | jq '.result[] | {phase, rate}'
  hemera ns benchmark --clean                 remove what an interrupted run left`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.parse(args); err != nil {
				return err
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				if o.clean {
					return e.cleanBenchmark(ctx, m, o)
				}
				return e.benchmark(ctx, m, o)
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&o.Relaxed, "relaxed", false, "measure also without waiting for the disk, in rows of their own")
	f.BoolVar(&o.wire.on, "wire", false, "measure through the door: one client session a thread")
	f.IntVar(&o.wire.depth, "depth", 1, "with --wire: requests in flight a session")
	f.BoolVar(&o.wire.full, "full", false, "with --wire: read goes on to the node, too")
	f.BoolVar(&o.Keep, "keep", false, "leave the files of a run that is interrupted or fails")
	f.BoolVar(&o.clean, "clean", false, "remove what an interrupted run left, and do nothing else")
	c.MarkFlagsMutuallyExclusive("wire", "relaxed")
	c.MarkFlagsMutuallyExclusive("wire", "clean")
	return c
}

// parse reads the arguments: three numbers and a prefix, or with --clean a prefix only.
func (o *benchmarkOptions) parse(args []string) error {
	if o.clean {
		if len(args) > 1 {
			return &usageError{errs.New(errs.Invalid, "read arguments", args[0], "--clean takes a prefix only").
				WithRemedy("hemera ns benchmark --clean [prefix]")}
		}
		if len(args) == 1 {
			o.Prefix = args[0]
		}
		return nil
	}
	if len(args) < 3 {
		return &usageError{errs.New(errs.Invalid, "read arguments", "", fmt.Sprintf("%d of the three numbers are there", len(args))).
			WithRemedy("hemera ns benchmark <threads> <subdirs> <files> [prefix], for example: hemera ns benchmark 100 10 10")}
	}
	for i, n := range []*int{&o.Threads, &o.Subdirs, &o.Files} {
		var err error
		if *n, err = strconv.Atoi(args[i]); err != nil {
			return &usageError{errs.New(errs.Invalid, "read "+[]string{"threads", "subdirs", "files"}[i], args[i], "is no number")}
		}
	}
	if len(args) == 4 {
		o.Prefix = args[3]
	}
	if _, err := nsbench.ShapeOf(o.BenchmarkRequest); err != nil {
		return &usageError{err}
	}
	return nil
}

func (e *env) cleanBenchmark(ctx context.Context, m *admin.Client, o benchmarkOptions) error {
	base, err := nsbench.BaseOf(o.Prefix)
	if err != nil {
		return err
	}
	switch err := m.CleanBenchmark(ctx, hemera.Identity{}, o.Prefix); {
	case errors.Is(err, errs.NotFound):
		e.say("%s is not there", base)
	case err != nil:
		return err
	default:
		e.say("%s removed", base)
	}
	return nil
}

// benchmark runs it once, or twice: waiting for the disk and not.
func (e *env) benchmark(ctx context.Context, m *admin.Client, o benchmarkOptions) error {
	t := &benchmarkTeller{e: e, request: o.BenchmarkRequest, wire: o.wire}
	if o.wire.on {
		return t.end(e.throughDoor(ctx, m, t, o.wire))
	}
	err := e.insideManager(ctx, m, t, false)
	if err == nil && o.Relaxed {
		err = e.insideManager(ctx, m, t, true)
	}
	return t.end(err)
}

// cleanWait bounds the wait for a manager that ends an interrupted run.
const cleanWait = 10 * time.Minute

func (e *env) insideManager(ctx context.Context, m *admin.Client, t *benchmarkTeller, relaxed bool) error {
	r := t.request
	r.Relaxed, t.relaxed = relaxed, relaxed
	err := m.Benchmark(ctx, hemera.Identity{}, r, t.update)
	if ctx.Err() == nil || r.Keep {
		return err
	}
	t.clear()
	fmt.Fprintln(e.Err, "hemera: interrupted; the manager removes what the run made")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWait)
	defer cancel()
	if cleanErr := m.CleanBenchmark(ctx, hemera.Identity{}, r.Prefix); cleanErr != nil && !errors.Is(cleanErr, errs.NotFound) {
		return cleanErr
	}
	return err
}

// benchmarkTeller shows a run: a line that moves, and at the end tables or records.
type benchmarkTeller struct {
	e       *env
	request hemera.BenchmarkRequest
	setup   hemera.BenchmarkSetup
	wire    wireOptions
	relaxed bool // the run under way
	rows    []benchmarkRow
	moving  bool
}

type benchmarkRow struct {
	hemera.BenchmarkResult
	relaxed bool
}

func (t *benchmarkTeller) update(u hemera.BenchmarkUpdate) error {
	switch {
	case u.Setup != nil:
		t.setup = *u.Setup
	case u.Result != nil:
		t.rows = append(t.rows, benchmarkRow{*u.Result, t.relaxed})
	case u.Progress != nil && t.e.Live:
		t.moving = true
		_, err := io.WriteString(t.e.Err, "\r\x1b[K"+cut(benchmarkLine(*u.Progress, 24), t.e.width()))
		return err
	}
	return nil
}

func (t *benchmarkTeller) clear() {
	if t.moving {
		io.WriteString(t.e.Err, "\r\x1b[K")
		t.moving = false
	}
}

func benchmarkLine(p hemera.BenchmarkProgress, width int) string {
	line := fmt.Sprintf("%-8s  %s  %d of %d  %.0f/s", p.Phase, bar(percent(p.Done, p.Total), width), p.Done, p.Total, p.Rate)
	if p.Rate > 0 && p.Done < p.Total {
		line += "  " + output.Seconds(float64(p.Total-p.Done)/p.Rate) + " to go"
	}
	return line
}

// end shows what was measured, whole or not, and makes an error of operations that failed.
func (t *benchmarkTeller) end(err error) error {
	t.clear()
	if len(t.rows) == 0 {
		return err
	}
	if t.e.json || t.e.monitor {
		s := t.e.stream(nil)
		for _, r := range t.rows {
			if err := s.Add(t.record(r)); err != nil {
				return err
			}
		}
		if err = t.failed(err); err == nil {
			return s.Close()
		}
		return err
	}
	if tableErr := t.table(); tableErr != nil {
		return tableErr
	}
	return t.failed(err)
}

func (t *benchmarkTeller) failed(err error) error {
	if err != nil {
		return err
	}
	var count int64
	var first *hemera.BenchmarkFailure
	for _, r := range t.rows {
		count += r.Main.Errors
		if r.Dirs != nil {
			count += r.Dirs.Errors
		}
		for i, f := range r.Failures {
			if first == nil {
				first = &r.Failures[i]
			}
			fmt.Fprintf(t.e.Err, "hemera: %s: %s\n", r.Phase, f.Text)
			if f.Remedy != "" {
				fmt.Fprintf(t.e.Err, "  what to do: %s\n", f.Remedy)
			}
		}
	}
	if count == 0 {
		return nil
	}
	return errs.New(errs.Internal, "benchmark", "", output.Count(count, "operation")+" failed; the rates count those that succeeded")
}

// published are the rates of CERN's talk of 2024 by shape (threads, subdirectories, files), phase by
// phase: operations per second in a virtual machine for the first, on hardware for the others.
func published() map[[3]int][]float64 {
	return map[[3]int][]float64{
		{100, 10, 10}:  {4000, 1600, 1600, 16000, 15000, 34000},
		{100, 1, 100}:  {1600, 2800, 43000, 35000, 34000, 2900},
		{1000, 1, 100}: {1300, 2750, 37000, 29000, 28000, 2600},
	}
}

// eosRate is the published rate of a phase in the run's shape, or zero.
func (t *benchmarkTeller) eosRate(phase string) float64 {
	if t.wire.on {
		return 0 // CERN's are taken inside the manager
	}
	rates := published()[[3]int{t.request.Threads, t.request.Subdirs, t.request.Files}]
	for i, name := range nsbench.Phases() {
		if name == phase && rates != nil {
			return rates[i]
		}
	}
	return 0
}

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// record is a phase for programs.
func (t *benchmarkTeller) record(r benchmarkRow) output.Record {
	unit := "files"
	if r.Phase == "mkdir" {
		unit = "dirs"
	}
	rec := output.Record{
		{Key: "phase", Value: r.Phase}, {Key: "unit", Value: unit}, {Key: "durable", Value: !r.relaxed},
		{Key: "threads", Value: t.request.Threads}, {Key: "subdirs", Value: t.request.Subdirs}, {Key: "files", Value: t.request.Files},
		{Key: "seconds", Value: r.Time.Seconds()},
	}
	rec = append(rec, opsFields("", r.Main, r.Time)...)
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

func opsFields(prefix string, o hemera.BenchmarkOps, took time.Duration) output.Record {
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	return output.Record{
		{Key: prefix + "ops", Value: o.Ops}, {Key: prefix + "errors", Value: o.Errors}, {Key: prefix + "rate", Value: perSecond(o.Ops, took)},
		{Key: prefix + "p50_us", Value: micros(o.P50)}, {Key: prefix + "p99_us", Value: micros(o.P99)},
		{Key: prefix + "p999_us", Value: micros(o.P999)}, {Key: prefix + "max_us", Value: micros(o.Max)},
	}
}

var benchmarkColumns = []output.Column{
	{Title: "phase", Key: "phase"},
	{Title: "ops", Key: "ops"},
	{Title: "errors", Key: "errors"},
	{Title: "time", Key: "seconds", Show: span},
	{Title: "rate/s", Key: "rate", Show: significant},
	{Title: "p50", Key: "p50", Show: span},
	{Title: "p99", Key: "p99", Show: span},
	{Title: "p99.9", Key: "p999", Show: span},
	{Title: "max", Key: "max", Show: span},
}

// tableRecord is a line of the table; what stands for another kind of entry than files says so.
func tableRecord(name string, o hemera.BenchmarkOps, took time.Duration) output.Record {
	return output.Record{
		{Key: "phase", Value: name}, {Key: "ops", Value: o.Ops}, {Key: "errors", Value: o.Errors},
		{Key: "seconds", Value: took.Seconds()}, {Key: "rate", Value: perSecond(o.Ops, took)},
		{Key: "p50", Value: o.P50.Seconds()}, {Key: "p99", Value: o.P99.Seconds()},
		{Key: "p999", Value: o.P999.Seconds()}, {Key: "max", Value: o.Max.Seconds()},
	}
}

// table writes what the figures depend on and a table of each run.
func (t *benchmarkTeller) table() error {
	w, r := t.e.Out, t.request
	fmt.Fprintf(w, "%d threads x %d subdirs x %d files = %d files, inside the manager\n", r.Threads, r.Subdirs, r.Files, r.Threads*r.Subdirs*r.Files)
	fmt.Fprintf(w, "%s, %s, %s, layout %s\n", output.Count(int64(t.setup.Cores), "core"), output.Count(int64(t.setup.Disks), "disk"),
		output.Count(int64(t.setup.Nodes), "node"), t.setup.Layout)
	for _, relaxed := range []bool{false, true} {
		var records []output.Record
		compared := false
		for _, row := range t.rows {
			if row.relaxed != relaxed {
				continue
			}
			name := row.Phase
			if row.Phase == "mkdir" {
				name += " (dirs)"
			}
			rec := tableRecord(name, row.Main, row.Time)
			if eos := t.eosRate(row.Phase); eos > 0 {
				compared = true
				rec = append(rec, output.Field{Key: "eos", Value: eos}, output.Field{Key: "ratio", Value: perSecond(row.Main.Ops, row.Time) / eos})
			}
			records = append(records, rec)
			if row.Dirs != nil {
				records = append(records, tableRecord(row.Phase+" (dirs)", *row.Dirs, row.Time))
			}
		}
		if len(records) == 0 {
			continue
		}
		title := "durable: every change is on the disk before its answer"
		if relaxed {
			title = "relaxed: answers do not wait for the disk"
		}
		columns := benchmarkColumns
		if compared {
			columns = append(columns[:len(columns):len(columns)], output.Column{Title: "EOS/s", Key: "eos", Show: significant},
				output.Column{Title: "ratio", Key: "ratio", Show: times})
		}
		fmt.Fprintf(w, "\n%s\n", title)
		if err := t.e.printer().List(columns, records); err != nil {
			return err
		}
	}
	if t.eosRate("create") > 0 {
		fmt.Fprint(w, "\nEOS: rates of this shape that CERN showed in 2024, on its own machine; its answers do not wait for the disk.\n")
	}
	return nil
}

// span shows seconds in the unit that suits them.
func span(v any) string {
	s, _ := v.(float64)
	switch {
	case s == 0:
		return ""
	case s < 1e-3:
		return fmt.Sprintf("%.3gµs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3gms", s*1e3)
	}
	return fmt.Sprintf("%.2fs", s)
}

// significant shows a rate without digits that mean nothing.
func significant(v any) string {
	f, _ := v.(float64)
	if v == nil || f == 0 {
		return ""
	}
	if f >= 100 {
		step := math.Pow(10, math.Floor(math.Log10(f))-2)
		f = math.Round(f/step) * step
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.1f", f)
}

func times(v any) string {
	if v == nil {
		return ""
	}
	return "x" + strconv.FormatFloat(v.(float64), 'f', 1, 64)
}
