// Command bench measures Hemera beside the C++ xrootd server, and beside what is known of EOS.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"hemera/test/bench"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	o := bench.Options{Progress: os.Stderr}
	flag.StringVar(&o.Binary, "hemera", "bin/hemera", "the `binary` under test")
	flag.StringVar(&o.Memory, "memory", "/dev/shm", "`directory` on a memory-backed filesystem")
	flag.StringVar(&o.Disk, "disk", os.TempDir(), "`directory` on a disk, for what must be durable")
	flag.IntVar(&o.Rounds, "rounds", 5, "measurements of each row at each server")
	flag.Int64Var(&o.FileBytes, "bytes", 1<<30, "size of bulk files")
	flag.DurationVar(&o.LoadTime, "time", time.Second, "length of loads that count operations")
	flag.IntVar(&o.Names, "names", 4000, "names made where names are used up")
	flag.BoolVar(&o.Peers, "peers", true, "measure beside the C++ server")
	flag.BoolVar(&o.EOS, "eos", true, "measure two durable replicas beside what EOS does")
	flag.BoolVar(&o.Coded, "coded", true, "measure coded layouts beside plain files")
	flag.StringVar(&o.Block, "block", "", "`size` of the blocks of coded layouts, as 256k; else the default")
	flag.StringVar(&o.Profiles, "profiles", "", "`directory` for a CPU profile of Hemera in each row")
	rows := flag.String("rows", "", "only rows that match, as \"stat x16\"; a regular `expression`")
	quick := flag.Bool("quick", false, "a short run: 3 rounds of 128 MiB and 0.3 s")
	update := flag.String("update", "", "also put the tables into this `page`")
	format := flag.String("format", "text", "text, json or markdown")
	flag.Parse()
	if *quick {
		o.Rounds, o.FileBytes, o.LoadTime, o.Names = 3, 128<<20, 300*time.Millisecond, 1000
	}
	if *rows != "" {
		var err error
		if o.Rows, err = regexp.Compile(*rows); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	if *update != "" {
		if err := updatePage(*update, report); err != nil {
			return err
		}
	}
	write := map[string]func(io.Writer) error{"text": report.Text, "json": report.JSON, "markdown": report.Markdown}[*format]
	if write == nil {
		return fmt.Errorf("no format %q", *format)
	}
	return write(os.Stdout)
}

func updatePage(name string, report bench.Report) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if page, err = report.Update(page); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, page, 0o644)
}
