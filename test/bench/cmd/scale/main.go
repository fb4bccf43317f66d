// Command scale measures a manager whose namespace grows to 100 million files.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hemera/process/config"
	"hemera/test/bench/scale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) == 2 && os.Args[1] == "child" {
		err = scale.Child(ctx, os.Stdin, os.Stdout)
	} else {
		err = run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	o := scale.Options{Progress: os.Stderr, CacheBytes: config.CacheLeast}
	flag.DurationVar(&o.Time, "time", 2*time.Second, "length of each load")
	flag.Int64Var(&o.CacheBytes, "cache", o.CacheBytes, "the manager's cache.namespace, in bytes")
	sizes := flag.String("millions", "1,2,5,10,20,50,100", "files at each measurement")
	dir := flag.String("dir", os.TempDir(), "`directory` on the disk to measure; 45 bytes a file are needed")
	format := flag.String("format", "text", "text, markdown or json")
	chart := flag.String("chart", "", "also draw curves into this SVG `file`")
	data := flag.String("data", "", "print results that -format json wrote to this `file`, and measure nothing")
	flag.Parse()
	for _, text := range strings.Split(*sizes, ",") {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n <= 0 {
			return fmt.Errorf("-millions: %q is no number", text)
		}
		o.Sizes = append(o.Sizes, int64(n*1e6))
	}
	var results []scale.Result
	if *data != "" {
		text, err := os.ReadFile(*data)
		if err == nil {
			err = json.Unmarshal(text, &results)
		}
		if err != nil {
			return err
		}
	} else {
		if o.Dir, err = os.MkdirTemp(*dir, "hemera-scale"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
		err = scale.Run(ctx, o, func(r scale.Result) error {
			results = append(results, r)
			return scale.Text(os.Stderr, results[len(results)-1:])
		})
		if err != nil && len(results) == 0 {
			return err
		}
	}
	err = errors.Join(err, show(*format, results))
	if *chart != "" {
		err = errors.Join(err, scale.Draw(*chart, results))
	}
	return err
}

func show(format string, results []scale.Result) error {
	switch format {
	case "json":
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", " ")
		return e.Encode(results)
	case "markdown":
		return scale.Markdown(os.Stdout, results)
	}
	return scale.Text(os.Stdout, results)
}
