package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// row is one layer: its packages may import those of lower rows, and what is listed under within.
type row struct {
	name     string   // in findings and in never
	packages []string // by path; packages below them are included
	// within lists imports between packages of the row, as "importer imported". A new one needs a better reason than
	// convenience: the packages of a row can be read, tested and replaced one by one.
	within []string
	reason string // of the rule, shown with each finding
}

// rows are the layers from the bottom up. Each is a folder, but for the words. A package below one that is listed belongs to its row.
var rows = []row{
	{"words", []string{".", "errs"}, []string{}, "every package uses them, so they depend on nothing but the standard library"},
	{"rules", []string{"rules/access", "rules/balance", "rules/capability", "rules/checksum", "rules/condition", "rules/erasure", "rules/layout", "rules/lifecycle", "rules/limits", "rules/netjudge",
		"rules/mounting", "rules/place",
		"rules/policy", "rules/quota", "rules/recallorder", "rules/recycle", "rules/tapecatalogue", "rules/tapegc", "rules/tapelabel", "rules/tapemodel", "rules/wire"},
		[]string{"rules/layout rules/erasure"}, // which pieces of a coded file are enough is the rank of its code
		"pure functions can be read and tested alone; each does without the others"},
	{"platform", []string{"platform/vfs", "platform/kv", "platform/rpc", "platform/auth", "platform/iovec", "platform/link", "platform/netstat", "platform/poll",
		"platform/xrootd", "platform/zerocopy", "platform/pki", "platform/tape", "platform/treewalk", "platform/thinlog", "platform/contain", "platform/turns"},
		[]string{"platform/poll platform/iovec", "platform/xrootd platform/iovec", "platform/xrootd platform/link", "platform/rpc platform/link", "platform/auth platform/link", "platform/kv platform/vfs", "platform/rpc platform/pki",
			"platform/rpc platform/contain", "platform/xrootd platform/contain", "platform/treewalk platform/contain"},
		"I/O without policy knows nothing of what uses it"},
	{"core", []string{"core/namespace", "core/cluster", "core/disk", "core/transfer", "core/maint", "core/netwatch", "core/orders", "core/rebuild", "core/requests", "core/tape"},
		[]string{"core/transfer core/disk", "core/maint core/orders", "core/rebuild core/namespace"},
		"one noun each; a package that needs a neighbour declares the methods it needs"},
	{"services", []string{"services/manager", "services/node", "services/tape"}, []string{}, "a manager, a node and a tape server meet over the wire only"},
	{"doors", []string{"doors/xrd", "doors/admin", "doors/taperest"}, []string{}, "a door is one protocol; it calls the hemera.* interfaces"},
	{"measure", []string{"measure/nsbench", "measure/nsload", "measure/result", "measure/stats", "measure/report", "measure/reference", "measure/host", "measure/tool", "measure/disk",
		"measure/net", "measure/load", "measure/energy", "measure/doctor", "measure/tape"},
		[]string{"measure/stats measure/result", "measure/report measure/result", "measure/report measure/stats", "measure/reference measure/result",
			"measure/host measure/result", "measure/disk measure/result", "measure/disk measure/host", "measure/disk measure/tool", "measure/net measure/tool", "measure/net measure/result", "measure/net measure/host",
			"measure/load measure/result", "measure/load measure/host", "measure/load measure/stats", "measure/load measure/tool", "measure/energy measure/result", "measure/energy measure/host", "measure/energy measure/stats",
			"measure/doctor measure/host", "measure/doctor measure/result", "measure/tape measure/result"},
		"a load is made through the interfaces that users have; a level leaves a result, and the report knows results only"},
	{"process", []string{"app/backup", "app/config", "app/disks", "app/measuring", "app/pieces", "app/resources", "app/statedir"},
		[]string{"app/backup app/statedir", "app/disks app/config", "app/disks app/statedir", "app/resources app/config"},
		"what a process has on its machine, and what it may use of it"},
	{"app", []string{"app/copy", "app/daemon", "app/direct", "app/peers", "app/tapeio", "cmd"},
		[]string{"app/copy app/direct", "app/daemon app/peers", "app/daemon app/tapeio", "app/direct app/peers", "cmd app/copy", "cmd app/daemon", "cmd app/direct"},
		"here, and only here, parts are put together"},
	{"test", []string{"test/conform", "test/fair", "test/sim", "test/fixture", "test/slowdevice", "measure/bench", "internal"},
		[]string{"test/sim test/conform", "measure/bench test/conform", "measure/bench test/sim"},
		"proof may use everything and nothing may use it, but tests"},
}

// never are imports that the order of the rows would allow.
var never = []struct{ from, to, reason string }{
	{"doors", "services", "a door takes the hemera.* interfaces, so that it serves a manager, a node or a fixture alike"},
	{"doors", "core", "a door that reaches behind the services goes round their checks"},
	{"services", "platform/xrootd", "services get their peers handed in"},
}

// placeOf finds a package's row and the listed package it belongs to.
// The listed package is the one whose path is equal or begins with its own.
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
// The standard library and other modules are not judged.
func Imports(module string, files []*File) (bad []string) {
	for _, f := range files {
		for _, spec := range f.AST.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			pkg, ours := strings.CutPrefix(target, module)
			if !ours || pkg != "" && pkg[0] != '/' {
				continue // another module, or one whose name begins like ours
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
	// Both packages need a place, so that a new folder cannot appear without a decision.
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
	// A layer or one listed package may be the target.
	for _, n := range never {
		if rows[from].name == n.from && (rows[to].name == n.to || target == n.to) {
			return n.reason
		}
	}
	// Within a row only what is listed is allowed.
	if to < from || to == from && slices.Contains(rows[from].within, base+" "+target) {
		return ""
	}
	return fmt.Sprintf("%s is in row %s and may import lower rows only, not %s: %s", base, rows[from].name, rows[to].name, rows[to].reason)
}
