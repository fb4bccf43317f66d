// Command tapescale measures the tape tier with a small and a large catalogue.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"hemera/test/bench/tapescale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tapescale:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := tapescale.Options{Progress: os.Stderr}
	flag.Int64Var(&o.Small, "small", 10_000, "files of the small catalogue")
	flag.Int64Var(&o.Large, "large", 10_000_000, "files of the large one; a tenth waits to be archived, a tenth to be recalled")
	dir := flag.String("dir", os.TempDir(), "`directory` on the disk to measure; 400 bytes a file are needed")
	format := flag.String("format", "text", "text or markdown")
	profile := flag.String("profile", "", "write a CPU profile to this `file`")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	r, err := tapescale.Temporary(ctx, *dir, o)
	if err != nil {
		return err
	}
	if *format == "markdown" {
		return tapescale.Markdown(os.Stdout, r)
	}
	return tapescale.Text(os.Stdout, r)
}
