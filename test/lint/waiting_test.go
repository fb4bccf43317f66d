package lint

import (
	"fmt"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"hemera/test/lint/locks"
)

// TestNoMutexIsHeldOverIO: a mutex guards memory only.
func TestNoMutexIsHeldOverIO(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks the whole tree")
	}
	for _, f := range locks.Check(tree(t), waiting()) {
		t.Error(f)
	}
}

// TestEachWaitingMethodIsFound: the analyzer finds a mutex that is held over any method of the list. A name on the list that stands for
// nothing would find nothing.
func TestEachWaitingMethodIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks packages of the tree")
	}
	probe := newProbe()
	listed := map[string]bool{}
	packages.Visit(tree(t), func(p *packages.Package) bool {
		for owner, methods := range waiting() {
			name, ok := strings.CutPrefix(owner, p.PkgPath+".")
			if !ok || strings.Contains(name, "/") {
				continue
			}
			if of, ok := p.Types.Scope().Lookup(name).(*types.TypeName); ok && !listed[owner] {
				listed[owner] = true
				probe.add(t, of, methods)
			}
		}
		return true
	}, nil)
	for owner := range waiting() {
		if !listed[owner] {
			t.Errorf("%s is on the list of types that wait, and is not there", owner)
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := locks.LoadWith(map[string][]byte{filepath.Join(root, "test/lint/probe/probe.go"): probe.source()}, root, "./test/lint/probe")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range locks.Check(loaded, waiting()) {
		found[f.Func] = true
	}
	for name, method := range probe.methods {
		if !found[name] {
			t.Errorf("a mutex over %s is not found", method)
		}
	}
}

// loadTree type-checks the whole tree, once for all tests.
var loadTree = sync.OnceValues(func() ([]*packages.Package, error) { return locks.Load("../..", "./...") })

// tree returns the packages of the tree.
func tree(t *testing.T) []*packages.Package {
	t.Helper()
	loaded, err := loadTree()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// probe is the source of a package with one function for each method, which calls it while it holds a mutex.
type probe struct {
	imports map[*types.Package]string // the names that the source gives them
	text    strings.Builder           // of the functions
	methods map[string]string         // by the function's name
}

// newProbe returns a package without functions.
func newProbe() *probe {
	return &probe{imports: map[*types.Package]string{}, methods: map[string]string{}}
}

// add writes the functions for methods of a type; "*" stands for all. A method that is not there fails the test.
func (p *probe) add(t *testing.T, of *types.TypeName, methods []string) {
	t.Helper()
	receiver := of.Type()
	if !types.IsInterface(receiver) {
		receiver = types.NewPointer(receiver)
	}
	set := types.NewMethodSet(receiver)
	if slices.Equal(methods, []string{"*"}) {
		methods = nil
		for m := range set.Methods() {
			methods = append(methods, m.Obj().Name())
		}
	}
	for _, m := range methods {
		selection := set.Lookup(of.Pkg(), m)
		if selection == nil {
			t.Errorf("%s.%s is on the list of methods that wait, and is not there", of.Name(), m)
			continue
		}
		name := fmt.Sprintf("call%d", len(p.methods))
		p.methods[name] = of.Pkg().Path() + "." + of.Name() + "." + m
		fmt.Fprintf(&p.text, "func %s(mu *sync.Mutex, x %s", name, types.TypeString(receiver, p.qualify))
		signature := selection.Type().(*types.Signature)
		var arguments []string
		for v := range signature.Params().Variables() {
			arguments = append(arguments, fmt.Sprintf("a%d", len(arguments)))
			fmt.Fprintf(&p.text, ", %s %s", arguments[len(arguments)-1], types.TypeString(v.Type(), p.qualify))
		}
		fmt.Fprintf(&p.text, ") {\n\tmu.Lock()\n\tdefer mu.Unlock()\n\tx.%s(%s", m, strings.Join(arguments, ", "))
		if signature.Variadic() {
			p.text.WriteString("...")
		}
		p.text.WriteString(")\n}\n")
	}
}

// qualify returns the name of an import, which it adds.
func (p *probe) qualify(of *types.Package) string {
	if p.imports[of] == "" {
		p.imports[of] = fmt.Sprintf("p%d", len(p.imports))
	}
	return p.imports[of]
}

// source returns the file.
func (p *probe) source() []byte {
	var b strings.Builder
	b.WriteString("package probe\n\nimport (\n\t\"sync\"\n")
	for of, name := range p.imports {
		fmt.Fprintf(&b, "\t%s %q\n", name, of.Path())
	}
	return []byte(b.String() + ")\n" + p.text.String())
}
