package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// row is one layer: its packages may import those of lower rows, and what stands in within.
type row struct {
	name     string
	packages []string
	// within lists imports between packages of the row, as "importer imported".
	within []string
	reason string
}

// rows are the layers from the bottom up. A package below one that is listed belongs to its row.
var rows = []row{
	{"words", []string{".", "errs"}, []string{}, "everybody speaks them, so they may depend on nothing but the standard library"},
	{"rules", []string{"checksum", "ec", "layout", "place", "access", "capability", "quota", "limits", "wire", "condition"}, []string{},
		"pure functions can be read and tested alone; each does without the others"},
	{"ground", []string{"vfs", "kv", "rpc", "auth", "link"}, []string{"rpc link", "auth link", "kv vfs", "rpc auth"},
		"I/O without policy knows nothing of what it is used for"},
	{"machines", []string{"namespace", "cluster", "disk", "transfer", "maint"}, []string{"transfer disk"},
		"one noun each; a machine that needs a neighbour declares the methods it needs"},
	{"services", []string{"manager", "node", "nsbench"}, []string{}, "a manager and a node meet over the wire only"},
	{"doors", []string{"xrd", "http", "admin"}, []string{}, "a door is one protocol; what it asks are the hemera.* interfaces"},
	{"assembly", []string{"client", "config", "daemon", "cmd"}, []string{"daemon client", "daemon config", "cmd client", "cmd config", "cmd daemon", "cmd admin"},
		"here, and only here, parts are put together"},
	{"side", []string{"conform", "sim", "bench", "internal"}, []string{"sim conform", "bench conform", "bench sim"},
		"proof may use everything and nothing may use it, but tests"},
}

// never are imports that the order of the rows would allow.
var never = []struct{ from, to, reason string }{
	{"doors", "services", "a door takes the hemera.* interfaces, so that it serves a manager, a node or a fixture alike"},
	{"doors", "machines", "a door that reaches behind the services goes round their checks"},
	{"services", "client", "services get their peers handed in"},
}

// placeOf finds a package's row and the listed package it belongs to.
func placeOf(pkg string) (level int, base string, ok bool) {
	for i, r := range rows {
		for _, p := range r.packages {
			if pkg == p || p != "." && strings.HasPrefix(pkg, p+"/") {
				return i, p, true
			}
		}
	}
	return 0, "", false
}

// Imports names each import that the layers do not allow. Tests may import everything.
func Imports(module string, files []*File) (bad []string) {
	for _, f := range files {
		for _, spec := range f.AST.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			pkg, ours := strings.CutPrefix(target, module)
			if !ours || pkg != "" && pkg[0] != '/' {
				continue
			}
			if pkg = strings.TrimPrefix(pkg, "/"); pkg == "" {
				pkg = "."
			}
			if why := forbidden(f, pkg); why != "" {
				bad = append(bad, fmt.Sprintf("%s imports %s: %s", f.Path, target, why))
			}
		}
	}
	return bad
}

// forbidden says why a file may not import a package, or "".
func forbidden(f *File, pkg string) string {
	from, base, ok := placeOf(f.Package)
	to, target, known := placeOf(pkg)
	switch {
	case !ok:
		return "package " + f.Package + " is in no layer; add it to rows with the reason for its place"
	case !known:
		return "package " + pkg + " is in no layer; add it to rows with the reason for its place"
	case base == target || f.Test: // a test may show its package at work in whatever uses it
		return ""
	}
	for _, n := range never {
		if rows[from].name == n.from && (rows[to].name == n.to || target == n.to) {
			return n.reason
		}
	}
	if to < from || to == from && slices.Contains(rows[from].within, base+" "+target) {
		return ""
	}
	return fmt.Sprintf("%s is in row %s and may import lower rows only, not %s: %s", base, rows[from].name, rows[to].name, rows[to].reason)
}
