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

// rows are the layers from the bottom up. Folders name what the system has; a layer may take packages of several folders.
// The listed package with the longest path decides about a package.
var rows = []row{
	{"words", []string{"words/hemera", "words/errs", "words/tapeapi", "words/adminapi"}, []string{"words/tapeapi words/hemera", "words/adminapi words/hemera", "words/adminapi words/tapeapi"},
		"every package uses them, so they depend on nothing but the standard library"},
	{"rules", []string{"rules/access", "rules/balance", "rules/capability", "rules/checksum", "rules/condition", "rules/erasure", "rules/layout", "rules/lifecycle", "rules/limits", "rules/netjudge",
		"rules/place", "rules/policy", "rules/quota", "rules/recycle", "rules/wire",
		"tape/gc", "tape/label", "tape/mounting", "tape/recallorder", "tape/tapeconfig", "tape/timing"},
		[]string{"rules/layout rules/erasure"}, // which pieces of a coded file are enough is the rank of its code
		"pure functions can be read and tested alone; each does without the others"},
	{"platform", []string{"platform/vfs", "platform/kv", "platform/rpc", "platform/auth", "platform/iovec", "platform/link", "platform/netstat", "platform/poll",
		"platform/zerocopy", "platform/pki", "platform/treewalk", "platform/thinlog", "platform/contain", "platform/turn", "platform/pause", "platform/fairshare", "client/admin", "client/xrootd", "tape/device"},
		[]string{"platform/poll platform/iovec", "platform/kv platform/pause", "client/xrootd platform/pause", "tape/device platform/pause", "client/xrootd platform/iovec", "client/xrootd platform/link", "platform/rpc platform/link", "platform/auth platform/link", "platform/kv platform/vfs", "platform/rpc platform/pki",
			"platform/rpc platform/contain", "client/xrootd platform/contain", "client/admin platform/link", "client/admin platform/rpc", "platform/treewalk platform/contain",
			"platform/kv platform/turn", "platform/pki platform/turn", "client/xrootd platform/turn", "tape/device platform/turn"},
		"I/O without policy knows nothing of what uses it"},
	{"records", []string{"namespace/record", "namespace/schema", "namespace/tables", "namespace/accounts"},
		[]string{"namespace/tables namespace/record", "namespace/tables namespace/schema", "namespace/accounts namespace/record", "namespace/accounts namespace/schema", "namespace/accounts namespace/tables"},
		"one store of records, in which files, accounts and the catalogue of tapes change together"},
	{"storage", []string{"namespace", "namespace/rebuild", "cluster", "cluster/netwatch", "disk", "transfer", "maint", "maint/move", "maint/orders", "maint/requests", "tape/catalogue", "tape/session", "tape/volume", "tape/internal"},
		[]string{"namespace tape/catalogue", "tape/session tape/volume", "transfer disk", "maint maint/move", "maint maint/orders", "maint/move maint/orders", "namespace/rebuild namespace"},
		"one noun each; a package that needs a neighbour declares the methods it needs"},
	{"services", []string{"manager", "node", "tape/server", "tape/tier"}, []string{"manager tape/tier"}, "a manager, a node and a tape server meet over the wire only"},
	{"doors", []string{"doors/xrd", "doors/admin", "doors/taperest"}, []string{}, "a door is one protocol; it calls the hemera.* interfaces"},
	{"measure", []string{"measure/nsbench", "measure/nsload", "measure/result", "measure/stats", "measure/report", "measure/reference", "measure/host", "measure/tool", "measure/disk",
		"measure/net", "measure/load", "measure/energy", "measure/doctor", "measure/tape"},
		[]string{"measure/stats measure/result", "measure/report measure/result", "measure/report measure/stats", "measure/reference measure/result",
			"measure/host measure/result", "measure/disk measure/result", "measure/disk measure/host", "measure/disk measure/tool", "measure/net measure/tool", "measure/net measure/result", "measure/net measure/host",
			"measure/load measure/result", "measure/load measure/host", "measure/load measure/stats", "measure/load measure/tool", "measure/energy measure/result", "measure/energy measure/host", "measure/energy measure/stats",
			"measure/doctor measure/host", "measure/doctor measure/result", "measure/tape measure/result"},
		"a load is made through the interfaces that users have; a level leaves a result, and the report knows results only"},
	{"machine", []string{"process/backup", "process/config", "process/disks", "process/measuring", "process/resources", "process/statedir", "client/pieces"},
		[]string{"process/backup process/statedir", "process/disks process/config", "process/disks process/statedir", "process/resources process/config"},
		"what a process has on its machine, and what it may use of it"},
	{"programs", []string{"client/copy", "client/direct", "process/daemon", "transfer/peers", "tape/nodeio", "cmd"},
		[]string{"client/copy client/direct", "process/daemon transfer/peers", "process/daemon tape/nodeio", "client/direct transfer/peers", "cmd client/copy", "cmd process/daemon", "cmd client/direct"},
		"here, and only here, parts are put together"},
	{"test", []string{"test/bench", "test/conform", "test/fair", "test/fixture", "test/lint", "test/sim", "test/slowdevice", "test/tapelabels", "scripts/freeport"},
		[]string{"test/sim test/conform", "test/bench test/conform", "test/bench test/sim"},
		"proof may use everything and nothing may use it, but tests"},
}

// never are imports that the order of the rows would allow.
var never = []struct{ from, to, reason string }{
	{"doors", "services", "a door takes the hemera.* interfaces, so that it serves a manager, a node or a fixture alike"},
	{"doors", "storage", "a door that reaches behind the services goes round their checks"},
	{"doors", "client/admin", "doors hold servers only"},
	{"services", "client/admin", "services get their peers handed in"},
	{"services", "client/xrootd", "services get their peers handed in"},
}

// placeOf finds a package's row and the listed package it belongs to: of those whose path is equal or begins its own, the longest.
func placeOf(pkg string) (level int, base string, ok bool) {
	for i, r := range rows {
		for _, p := range r.packages {
			if (pkg == p || strings.HasPrefix(pkg, p+"/")) && len(p) > len(base) {
				level, base, ok = i, p, true
			}
		}
	}
	return level, base, ok
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
