package lint

import (
	"fmt"
	"sort"
	"strings"
)

const (
	// commentShareMin is the least share of lines, in percent, that are or carry a comment in a package's code.
	commentShareMin = 18
	// commentLinesMin is the size of a package below which its share says little.
	commentLinesMin = 150
	// taughtLinesMin is the size of a package whose doc comment must teach, and taughtDocMin how many lines that takes.
	taughtLinesMin = 1000
	taughtDocMin   = 15
)

// Comments names each package with too few comments, and each large one whose doc comment is too short to teach.
//
// It counts what is written, not whether it is worth reading: that remains for people. Tests do not count, nor do packages that are
// short enough to be read as a whole.
func Comments(files []*File) (bad []string) {
	type share struct{ lines, comments, doc int } // doc is the length of the package's doc comment
	packages := map[string]*share{}
	for _, f := range files {
		// Names and failures of tests say what they prove.
		if f.Test {
			continue
		}
		p := packages[f.Package]
		if p == nil {
			p = &share{}
			packages[f.Package] = p
		}
		p.lines += f.Lines          // blank lines and imports included
		commented := map[int]bool{} // a set, because a line may have two comments
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				// Directives are for tools, not for readers.
				if strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "//nolint") {
					continue
				}
				for l := f.line(c.Pos()); l <= f.line(c.End()); l++ {
					commented[l] = true
				}
			}
		}
		p.comments += len(commented)
		// A doc comment may be spread over files; all of it counts.
		if f.AST.Doc != nil {
			p.doc += f.line(f.AST.Doc.End()) - f.line(f.AST.Doc.Pos()) + 1
		}
	}
	for name, p := range packages {
		if got := 100 * p.comments / max(1, p.lines); p.lines >= commentLinesMin && got < commentShareMin { // rounded down
			bad = append(bad, fmt.Sprintf("package %s: %d %% of its %d lines have a comment, the least is %d %%: say why, units, owners, limits",
				name, got, p.lines, commentShareMin))
		}
		if p.lines >= taughtLinesMin && p.doc < taughtDocMin {
			bad = append(bad, fmt.Sprintf("package %s has %d lines and a doc comment of %d, the least is %d: teach the problem, the invariants, the locks",
				name, p.lines, p.doc, taughtDocMin))
		}
	}
	// Maps have no order.
	sort.Strings(bad)
	return bad
}
