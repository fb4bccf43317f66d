package lint

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// uncontained are the goroutines of servers without a boundary of their own, by file and function, with the reason. A goroutine whose panic
// ends the process is one that does not work for a single request, file, disk or tape.
var uncontained = map[string]string{
	// The process itself: without these it does not serve. Requests, sessions and steps below have boundaries.
	"process/daemon/manager.go: Run":        "the manager",
	"process/daemon/node.go: Run":           "the node",
	"process/daemon/port.go: serve":         "the doors; connections and requests have boundaries",
	"process/daemon/up.go: Run":             "the manager of up",
	"process/daemon/up.go: start":           "the nodes of up; the timer logs",
	"maint/engine.go: Run":                  "loops whose steps have boundaries; the function closes a channel",
	"manager/manager.go: Run":               "the engine, whose steps have boundaries; it is run once",
	"node/run.go: Run":                      "loops whose work has boundaries",
	"tape/server/server.go: Run":            "loops whose steps have boundaries",
	"namespace/record/group.go: dieOfPanic": "it is to end the process: a namespace has one state",
	"platform/contain/contain.go: Go":       "it makes the boundary",

	// The store: a part of the namespace.
	"namespace/record/numbers.go: Take":             "the namespace",
	"namespace/nscheck/entries.go: each":            "a command of an admin",
	"platform/kv/pebblekv/compactions.go: Register": "the store",
	"platform/kv/pebblekv/flush.go: flushEnded":     "the store",
	"platform/kv/pebblekv/notes.go: wrote":          "the store",
	"platform/kv/pebblekv/pebblekv.go: openInTime":  "the store",
	"platform/kv/pebblekv/writer.go: Wait":          "the store",
	"platform/kv/replkv/follow.go: follow":          "the store",
	"platform/kv/replkv/replkv.go: Acquire":         "it cancels",
	"platform/kv/replkv/session.go: append":         "the store",
	"platform/kv/replkv/session.go: leave":          "the store",
	"platform/kv/replkv/session.go: newSession":     "the store",

	// What runs has its boundary a call deeper.
	"disk/bounded/device.go: begin":        "each call of the worker",
	"namespace/rebuild/merge.go: newMerge": "each list",
	"tape/session/archive.go: Archive":     "the plan",
	"tape/session/deliver.go: startWriter": "each step of a file",
	"tape/session/plan.go: start":          "each file",
	"tape/session/recall.go: Recall":       "each report",
	"transfer/ahead/reader.go: fetch":      "the Fetch of the file",
	"platform/poll/loop.go: start":         "the connection that is served, by its door",
	"platform/poll/socket.go: Wake":        "the connection that is served, by its door",
	"platform/poll/socket.go: Close":       "the connection that is served, by its door",
	"manager/sums/sums.go: start":          "the computation",
	"node/orders.go: add":                  "each order",
	"doors/xrd/async.go: begin":            "the promise",

	// Nothing that panics: it waits, closes, cancels or looks at a clock.
	"process/daemon/port.go: runWithin":      "it closes, at the end of the process",
	"disk/bounded/device.go: watch":          "it looks at a clock and a table",
	"maint/move/mover.go: Lasting":           "it waits",
	"doors/xrd/server.go: Serve":             "it closes the listener",
	"client/admin/through.go: RoundTrip":     "the client's side, in commands",
	"platform/link/mux.go: admit":            "it looks at one byte",
	"platform/poll/loop.go: NewLoop":         "it looks at a table",
	"platform/rpc/strangers.go: Accept":      "it closes a connection",
	"tape/device/emulated/drive.go: Load":    "it cancels",
	"tape/device/emulated/clock.go: acquire": "it cancels",
	"platform/thinlog/thinlog.go: passes":    "it writes a line of the log",
	"client/xrootd/open.go: openExclusively": "it cancels",
	"doors/xrd/held.go: outcome":             "it cancels",
	"node/run.go: waitUntil":                 "it waits",
	"tape/server/desk.go: done":              "it cancels",
}

// Contained returns the places in what servers are made of that start a goroutine, or a timer with a function, without a boundary of package
// contain: a panic there would end the process, in which others have work. What is in the list of exceptions and not in the tree is a
// finding, too.
func Contained(files []*File) (findings []string) {
	unused := maps.Clone(uncontained)
	for _, f := range files {
		if f.Test || !serves(f.Package) {
			continue
		}
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			place := f.Path + ": " + fn.Name.Name
			ast.Inspect(fn, func(n ast.Node) bool {
				work := started(n)
				if work == nil || hasBoundary(work) {
					return true
				}
				if _, ok := uncontained[place]; ok {
					delete(unused, place)
					return true
				}
				findings = append(findings, f.at(n)+": a panic in this goroutine ends the process: use Go or Func of contain.Panics, or give a reason in test/lint/contained.go")
				return true
			})
		}
	}
	for _, place := range slices.Sorted(maps.Keys(unused)) {
		if len(files) > 20 { // the whole tree, and not the text of a test
			findings = append(findings, fmt.Sprintf("%s: starts no goroutine without a boundary any more: take it out of test/lint/contained.go", place))
		}
	}
	return findings
}

// serves reports true for packages that servers are made of, and not for suites.
func serves(dir string) bool {
	level, base, ok := placeOf(dir)
	if !ok || strings.HasSuffix(dir, "test") {
		return false
	}
	return slices.Contains([]string{"platform", "records", "storage", "services", "doors"}, rows[level].name) ||
		slices.Contains([]string{"process/daemon", "transfer/peers", "tape/nodeio"}, base)
}

// started returns the function that a node starts on a goroutine of its own; nil if it starts none, or one with a boundary.
func started(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.GoStmt:
		return n.Call
	case *ast.CallExpr:
		selected, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) == 0 || isPanics(selected.X) {
			return nil
		}
		if selected.Sel.Name == "Go" || selected.Sel.Name == "AfterFunc" {
			return n.Args[len(n.Args)-1]
		}
	}
	return nil
}

// hasBoundary reports whether a function has a boundary of package contain, or of a door, within. It takes the author's word that the boundary is
// around what may panic.
func hasBoundary(work ast.Node) (has bool) {
	ast.Inspect(work, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selected, ok := call.Fun.(*ast.SelectorExpr); ok {
			name := selected.Sel.Name
			has = has || isPanics(selected.X) || name == "containPanic" || name == "contained" || name == "loop"
		}
		return true
	})
	return has
}

// isPanics reports whether an expression is a counter of panics, by its name.
func isPanics(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.EqualFold(e.Name, "panics")
	case *ast.SelectorExpr:
		return strings.EqualFold(e.Sel.Name, "panics")
	case *ast.CallExpr:
		return isPanics(e.Fun)
	}
	return false
}
