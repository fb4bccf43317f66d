package lint

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// emptyNames say nothing of what is in a package.
// A folder of that name collects what has no better place.
var emptyNames = map[string]bool{"util": true, "utils": true, "common": true, "helpers": true, "misc": true, "pkg": true, "base": true}

// machinePath finds absolute paths of the machine a text was written on.
// It is made for the usual places of checkouts and homes.
var machinePath = regexp.MustCompile(`(?:^|[\s"'(=:])/(?:home|root|work|Users)/[A-Za-z0-9_.-]+`)

// Words names each package with an empty name, each init function and each path of somebody's machine.
// An init function is one that runs at the start of every program that imports the package, tests included.
func Words(files []*File) (bad []string) {
	for _, f := range files {
		for _, part := range strings.Split(f.Package, "/") {
			if emptyNames[part] {
				bad = append(bad, fmt.Sprintf("%s: %q says nothing of what is in the package", f.Path, part))
			}
		}
		// In the text and not in the literals: comments and generated code count too.
		for i, line := range strings.Split(f.Text, "\n") {
			if m := machinePath.FindString(line); m != "" {
				bad = append(bad, fmt.Sprintf("%s:%d: %s is a path of one machine", f.Path, i+1, strings.TrimSpace(m)))
			}
		}
		// Methods may be called init.
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				bad = append(bad, fmt.Sprintf("%s: init runs unasked; make it a function that is called", f.at(fn)))
			}
		}
	}
	return bad
}
