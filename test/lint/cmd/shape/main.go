// Shape prints how packages are built: lines, files, arrows between their files, and the largest method sets. With -up it names the
// arrows that run up, and what is used. With -tree it prints the sums of a whole tree, as one row of the table in docs/STYLE.md.
//
//	go run ./test/lint/cmd/shape ./transfer/... ./manager/...
//	go run ./test/lint/cmd/shape -tree -dir ../another
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"hemera/test/lint/locks"
	"hemera/test/lint/shape"
)

func main() {
	up := flag.Bool("up", false, "name the arrows that run up")
	order := flag.Bool("order", false, "list the files from the top down")
	tree := flag.Bool("tree", false, "print one row with the sums of the tree")
	dir := flag.String("dir", ".", "the tree")
	types := flag.Int("types", 15, "how many of the largest method sets are listed")
	flag.Parse()
	show := func() error { return run(flag.Args(), *up, *order, *types) }
	if err := os.Chdir(*dir); *tree && err == nil {
		show = sums
	}
	if err := show(); err != nil {
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

// sums prints the row of the tree: packages, lines without tests, the largest method set, types above the linter's 60, shells, arrows between files
// of a package and the part that runs up, lines of documents.
func sums() error {
	loaded, err := locks.Load(".", "./...")
	if err != nil {
		return err
	}
	var lines, arrows, against, wide, shells, documents int
	for _, p := range shape.Packages(loaded) {
		lines += p.Lines
	}
	for _, p := range loaded {
		o := shape.Arrows(p)
		arrows, against = arrows+len(o.Arrows), against+len(o.Up)
	}
	all := shape.Types(loaded)
	for _, t := range all {
		if t.Methods > 60 {
			wide++
		}
		if t.Shell != "" {
			shells++
		}
	}
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "build" || d.Name() == "testdata" || d.Name() == ".git") {
			return cmp.Or(err, filepath.SkipDir)
		}
		if !d.IsDir() && filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			documents += bytes.Count(text, []byte("\n"))
			return err
		}
		return nil
	})
	fmt.Printf("| %d | %d | %d | %d | %d | %d | %.0f %% | %d |\n", len(loaded), lines, all[0].Methods, wide, shells, arrows, 100*float64(against)/float64(max(1, arrows)), documents)
	return err
}
