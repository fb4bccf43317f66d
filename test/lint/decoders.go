package lint

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// decodes matches the names of functions that make values of bytes that came from somewhere else.
var decodes = regexp.MustCompile(`^(?i:decode|parse|unmarshal)|^(?i:read)(Label|State|Header|Footer|Table|Lines|Log|Plan|File|Bundle)`)

// trusted are packages whose decoders read what the user of the process itself types, or what only tests write.
var trusted = []struct{ dir, reason string }{
	{"cmd", "arguments of a command line are of the user that runs it"},
	{"test", "proof reads what it wrote"},
	{"scripts", "they read what the build wrote"},
}

// Decoders returns the decoders that no fuzz target reaches. A decoder is a function with the name of one that takes bytes, a text or a reader,
// and any function that calls a decoder of encoding/json. A target reaches what it names, and what that names: functions by their package,
// methods by their name within it. Exceptions are those of unfuzzed; one that names no decoder, or one that is reached, is a finding too.
func Decoders(files []*File, unfuzzed map[string]string) (findings []string) {
	g := graphOf(files)
	left := map[string]bool{}
	for _, f := range files {
		if f.Test || slices.ContainsFunc(trusted, func(t struct{ dir, reason string }) bool { return within(f.Package, t.dir) }) {
			continue
		}
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || !isDecoder(f, fn) {
				continue
			}
			name := f.Package + "." + fn.Name.Name
			if g.reached[name] {
				continue
			}
			left[name] = true
			if unfuzzed[name] == "" {
				findings = append(findings, fmt.Sprintf("%s: no fuzz target reaches the decoder %s: bytes of others may be anything", f.at(fn), name))
			}
		}
	}
	for name := range unfuzzed {
		if !left[name] {
			findings = append(findings, name+" is an exception of decoders, and is none without a fuzz target")
		}
	}
	slices.Sort(findings)
	return findings
}

// within reports true for a directory and those below it.
func within(dir, root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }

// isDecoder reports true for a function with the name and the input of a decoder, and for one that decodes JSON.
func isDecoder(f *File, fn *ast.FuncDecl) bool {
	if decodes.MatchString(fn.Name.Name) && slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool { return isInput(p.Type) }) {
		return true
	}
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Unmarshal", "NewDecoder"}, s.Sel.Name) {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == "json"
		}
		return !found
	})
	return found
}

// isInput reports true for the types that hold encoded data.
func isInput(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name == "string"
	case *ast.ArrayType:
		e, ok := t.Elt.(*ast.Ident)
		return ok && t.Len == nil && e.Name == "byte"
	case *ast.SelectorExpr:
		x, ok := t.X.(*ast.Ident)
		return ok && slices.Contains([]string{"io.Reader", "json.RawMessage", "vfs.FS", "io.ReaderAt"}, x.Name+"."+t.Sel.Name)
	case *ast.StarExpr:
		return isInput(t.X)
	}
	return false
}

// graph is which functions name which.
type graph struct {
	names   map[string][]string // by the function: package.Name, of methods without their type
	reached map[string]bool     // from a fuzz target
}

// graphOf makes the graph of a tree.
func graphOf(files []*File) graph {
	g := graph{map[string][]string{}, map[string]bool{}}
	var next []string
	for _, f := range files {
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			name := f.Package + "." + fn.Name.Name
			g.names[name] = append(g.names[name], f.named(fn.Body)...)
			if f.Test && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				next = append(next, name)
			}
		}
	}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if g.reached[name] {
			continue
		}
		g.reached[name] = true
		next = append(next, g.names[name]...)
	}
	return g
}

// named returns the names in a body: of its own package, and of others by their imports.
func (f *File) named(body ast.Node) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				if dir, ok := f.imported(x.Name); ok {
					names = append(names, dir+"."+n.Sel.Name)
					return false
				}
			}
			names = append(names, f.Package+"."+n.Sel.Name)
		case *ast.Ident:
			names = append(names, f.Package+"."+n.Name)
		}
		return true
	})
	return names
}
