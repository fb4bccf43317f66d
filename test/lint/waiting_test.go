package lint

import (
	"go/types"
	"strings"
	"testing"

	"hemera/test/lint/locks"
)

// TestNoMutexIsHeldOverIO: a mutex guards memory only.
func TestNoMutexIsHeldOverIO(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks the whole tree")
	}
	loaded, err := locks.Load("../..", "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range locks.Check(loaded, waiting()) {
		t.Error(f)
	}
	// A list that names what is not there would find nothing.
	known := map[string]bool{}
	for _, p := range loaded {
		for _, name := range p.Types.Scope().Names() {
			named, ok := p.Types.Scope().Lookup(name).Type().(*types.Named)
			if !ok {
				continue
			}
			if i, ok := named.Underlying().(*types.Interface); ok {
				for m := range i.Methods() {
					known[p.PkgPath+"."+name+"."+m.Name()] = true
				}
			}
		}
	}
	for owner, methods := range waiting() {
		for _, m := range methods {
			if strings.HasPrefix(owner, module) && m != "*" && !known[owner+"."+m] {
				t.Errorf("%s.%s is on the list of methods that wait, and is not there", owner, m)
			}
		}
	}
}
