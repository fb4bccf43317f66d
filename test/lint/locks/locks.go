// Package locks finds mutexes that are held over calls that wait for a device, a network or a turn of others. Such a lock turns one slow
// disk into a stall of everything behind the lock, so a mutex of this tree guards memory only (docs/STYLE.md).
//
// The check knows a set of methods that wait (Waiting), follows static calls to find every function of the tree that may
// reach one, and walks each function body in source order with the mutexes that are held there. It reports a call that
// may wait while a sync.Mutex or sync.RWMutex is held. It is a lint, not a proof: calls through function values and
// through interfaces outside of the set are not followed, and a lock is taken to be held until the Unlock that follows
// in the source, or to the end of the function if that is deferred.
//
// A place that holds a lock on purpose says so in a comment on the line of the Lock or above it: "holds: REASON".
package locks

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Waiting are the methods that wait for a device or the network: by type, as package path and name, and method. "*" is
// every method of the type.
// Methods of interfaces count for calls through the interface, so an interface is listed itself and not by its implementations.
type Waiting map[string][]string

// Finding is one call that may wait while a mutex is held.
type Finding struct {
	Pos  token.Position // of the call
	Func string         // the function that holds the lock
	Lock string         // the mutex, as the source names it
	Call string         // the call that may wait
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s holds %s over %s, which may wait for a device or the network", f.Pos.Filename, f.Pos.Line, f.Func, f.Lock, f.Call)
}

// Load type-checks the packages of the patterns below dir. It runs the go command.
func Load(dir string, patterns ...string) ([]*packages.Package, error) {
	return LoadWith(nil, dir, patterns...)
}

// LoadWith does what Load does, with sources that take the place of files, by their absolute paths. Their directories
// need not exist.
func LoadWith(sources map[string][]byte, dir string, patterns ...string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir:     dir,
		Overlay: sources,
		Mode:    packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	// Without types nothing would be found in a package, which would look like a clean one.
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
	}
	return loaded, nil
}

// Check returns the findings of the packages, sorted by place.
// A lock that is held over several calls gives a finding for each.
func Check(loaded []*packages.Package, waiting Waiting) []Finding {
	c := &checker{waiting: waiting, bodies: map[*types.Func]body{}, may: map[*types.Func]string{}}
	for _, p := range loaded {
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				// Functions without a body are declared elsewhere, in assembly.
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					if obj, ok := p.TypesInfo.Defs[fn.Name].(*types.Func); ok {
						c.bodies[obj] = body{pkg: p, file: file, decl: fn}
					}
				}
			}
		}
	}
	// First all functions that may wait, since a call may reach one that is declared later or in another package.
	c.close()
	for obj, b := range c.bodies {
		c.walk(obj, b)
	}
	sort.Slice(c.found, func(i, j int) bool {
		a, b := c.found[i].Pos, c.found[j].Pos
		return a.Filename < b.Filename || a.Filename == b.Filename && a.Line < b.Line
	})
	return c.found
}

// body is the source of one function.
type body struct {
	pkg  *packages.Package // for the types of its expressions
	file *ast.File         // for its comments
	decl *ast.FuncDecl
}

// checker has the state of one Check.
type checker struct {
	waiting Waiting // as the caller gave them
	// bodies has every function and method of the tree that has a body.
	bodies map[*types.Func]body
	may    map[*types.Func]string // functions that may wait, and the call by which
	found  []Finding              // in no order
}

// close finds the functions that may wait, until no more are found: those that call one that may.
// It is a fixed point: each round adds callers of what the last round found. A chain of n calls takes at most n rounds.
func (c *checker) close() {
	for changed := true; changed; {
		changed = false
		for obj, b := range c.bodies {
			if c.may[obj] != "" {
				continue
			}
			inspect(b.decl.Body, func(call *ast.CallExpr) bool {
				// One reason is enough for a function.
				if why := c.waits(b.pkg, call); why != "" {
					c.may[obj] = why
					changed = true
				}
				return c.may[obj] == ""
			})
		}
	}
}

// inspect visits the calls that a function makes itself: not those of goroutines and function literals, which may run
// without the locks of the function around them.
func inspect(n ast.Node, visit func(*ast.CallExpr) bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.FuncLit:
			return false
		case *ast.CallExpr:
			return visit(n)
		}
		return true
	})
}

// waits returns the name of the call if it may wait, else "".
func (c *checker) waits(pkg *packages.Package, call *ast.CallExpr) string {
	obj := callee(pkg, call)
	if obj == nil {
		return ""
	}
	// Types of other packages than those loaded are known by their names as well.
	if owner := receiver(obj); owner != "" {
		for _, m := range c.waiting[owner] {
			if m == "*" || m == obj.Name() {
				return owner + "." + obj.Name()
			}
		}
	}
	// The chain is cut to its ends: the function called here, and the call that waits.
	if why := c.may[obj]; why != "" {
		return obj.Name() + " → " + last(why)
	}
	return ""
}

// last returns the end of a chain of calls: the call that waits.
func last(why string) string {
	parts := strings.Split(why, " → ")
	return parts[len(parts)-1]
}

// callee returns the function or method that a call names, nil if it is a value.
func callee(pkg *packages.Package, call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	// A call of a call's result, or a conversion.
	default:
		return nil
	}
	obj, _ := pkg.TypesInfo.Uses[id].(*types.Func)
	if obj != nil { // an instance of a generic function has the body of its origin
		obj = obj.Origin()
	}
	return obj
}

// receiver returns the type that a method belongs to, as "path.Name".
func receiver(obj *types.Func) string {
	r := obj.Signature().Recv()
	if r == nil {
		return ""
	}
	t := r.Type()
	// Methods of a type and of its pointer are listed alike.
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	// Methods of an unnamed interface have no name to be listed under.
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	return named.Obj().Pkg().Path() + "." + named.Obj().Name()
}

// walk goes through a function in source order with the mutexes held.
// Branches are not followed: what is locked in one counts as locked below it.
func (c *checker) walk(obj *types.Func, b body) {
	held := map[string]bool{}  // by expression
	toEnd := map[string]bool{} // those that a deferred Unlock releases: held when later deferred calls run
	report := func(call *ast.CallExpr, held map[string]bool) {
		if why := c.waits(b.pkg, call); why != "" && len(held) > 0 && !c.excused(b, call.Pos()) {
			for lock := range held {
				c.found = append(c.found, Finding{Pos: b.pkg.Fset.Position(call.Pos()), Func: obj.Name(), Lock: lock, Call: why})
			}
		}
	}
	ast.Inspect(b.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		// A goroutine does not hold its starter's locks, and a literal may be called later.
		case *ast.GoStmt, *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			// A deferred call runs with the locks whose Unlock was deferred before it, which run after it.
			if lock := mutexCall(b.pkg, n.Call); lock == "" {
				report(n.Call, toEnd)
			} else if held[lock] {
				toEnd[lock] = true
			}
			return false
		case *ast.CallExpr:
			if lock := mutexCall(b.pkg, n); lock != "" {
				sel := n.Fun.(*ast.SelectorExpr)
				switch sel.Sel.Name {
				// TryLock counts as a Lock: the branch in which it succeeded follows in the source.
				case "Lock", "RLock", "TryLock", "TryRLock":
					// A reason at the Lock covers all calls under it.
					if !c.excused(b, n.Pos()) {
						held[lock] = true
					}
				case "Unlock", "RUnlock": // in one branch of several it counts for the rest of the function: a finding less, not one more
					delete(held, lock)
				}
				return true
			}
			report(n, held)
		}
		return true
	})
}

// mutexCall returns the expression of the mutex if the call is one of a mutex's, else "".
func mutexCall(pkg *packages.Package, call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	obj, _ := pkg.TypesInfo.Uses[sel.Sel].(*types.Func)
	if obj == nil {
		return ""
	}
	switch receiver(obj) {
	case "sync.Mutex", "sync.RWMutex": // embedded ones too: the method belongs to the embedded type
		return types.ExprString(sel.X)
	}
	return ""
}

// excused reports whether a comment on the line or above it gives a reason ("holds: REASON").
// The comment may also stand on the line of the call that waits.
func (c *checker) excused(b body, pos token.Pos) bool {
	line := b.pkg.Fset.Position(pos).Line
	for _, group := range b.file.Comments {
		start, end := b.pkg.Fset.Position(group.Pos()).Line, b.pkg.Fset.Position(group.End()).Line
		if (end == line-1 || start == line) && strings.Contains(group.Text(), "holds: ") {
			return true
		}
	}
	return false
}
