// Shape prints how packages are built: lines, files, arrows between their files, and the largest method sets. With -up it names the
// arrows that run up, and what is used.
//
//	go run ./test/lint/cmd/shape ./transfer/... ./manager/...
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"hemera/test/lint/locks"
	"hemera/test/lint/shape"
)

func main() {
	up := flag.Bool("up", false, "name the arrows that run up")
	order := flag.Bool("order", false, "list the files from the top down")
	types := flag.Int("types", 15, "how many of the largest method sets are listed")
	flag.Parse()
	if err := run(flag.Args(), *up, *order, *types); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run prints the table of the packages that the patterns name.
func run(patterns []string, up, order bool, most int) error {
	loaded, err := locks.Load(".", patterns...)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "package\tlines\tfiles\tarrows\tup\tshare")
	var arrows, against int
	sizes := shape.Packages(loaded)
	for i, p := range loaded {
		o := shape.Arrows(p)
		arrows, against = arrows+len(o.Arrows), against+len(o.Up)
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%.0f %%\n", strings.TrimPrefix(p.PkgPath, "hemera/"), sizes[i].Lines, len(o.Files), len(o.Arrows), len(o.Up), 100*o.Share())
		if order {
			fmt.Fprintf(out, "  %s\n", strings.Join(o.Files, " "))
		}
		if up {
			for _, a := range o.Up {
				fmt.Fprintf(out, "  %s -> %s: %s\n", a.From, a.To, strings.Join(a.Names, " "))
			}
		}
	}
	fmt.Fprintf(out, "all\t\t\t%d\t%d\t%.0f %%\n", arrows, against, 100*float64(against)/float64(max(1, arrows)))
	fmt.Fprintln(out, "\ntype\tmethods\tshell of")
	for i, t := range shape.Types(loaded) {
		if i < most || t.Shell != "" {
			fmt.Fprintf(out, "%s\t%d\t%s\n", t.Name, t.Methods, t.Shell)
		}
	}
	return out.Flush()
}
