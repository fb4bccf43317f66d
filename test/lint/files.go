package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// fileReference matches a Go file that a comment names: "(pending.go)", "see move/plan.go".
var fileReference = regexp.MustCompile(`\b((?:[\w]+/)*\w+\.go)\b`)

// NamedFiles returns the files named in comments that do not exist. A name stands for a file of the package, of one below it, or of the tree.
func NamedFiles(files []*File) (bad []string) {
	paths := map[string]bool{}
	for _, f := range files {
		paths[f.Path] = true
	}
	exists := func(from, name string) bool {
		dir := path.Dir(from)
		if paths[path.Join(dir, name)] || paths[name] {
			return true
		}
		for p := range paths {
			if strings.HasPrefix(p, dir+"/") && strings.HasSuffix(p, "/"+name) {
				return true
			}
		}
		return false
	}
	for _, f := range files {
		if path.Dir(f.Path) == "test/lint" { // its comments have examples
			continue
		}
		for _, group := range f.AST.Comments {
			for _, m := range fileReference.FindAllStringSubmatch(group.Text(), -1) {
				if name := m[1]; !exists(f.Path, name) {
					bad = append(bad, fmt.Sprintf("%s: names %s, which does not exist", f.at(group), name))
				}
			}
		}
	}
	slices.Sort(bad)
	return bad
}
