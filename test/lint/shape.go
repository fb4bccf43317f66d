package lint

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"hemera/test/lint/shape"
)

const (
	methodSetMax    = 60                     // methods of a type with those that it embeds; a reader holds half of them
	ownPackage      = "a package of its own" // how the comment of a small package begins to say why it is one
	smallPackageMax = 160                    // lines of a package that has to say why it is one, if one package alone imports it
)

// Shape names types with too many methods, structs that are nothing but one embedded pointer of their own package, and small packages
// with one importer whose comment does not say why they are packages ("It is a package of its own because ..."). Method sets count what a
// type embeds: a type that embeds the state of another divides nothing.
func Shape(loaded []*packages.Package) (bad []string) {
	for _, t := range shape.Types(loaded) {
		place := fmt.Sprintf("%s:%d", filepath.Base(t.Pos.Filename), t.Pos.Line)
		if t.Methods > methodSetMax {
			bad = append(bad, fmt.Sprintf("%s (%s) has %d methods with those it embeds, the most is %d: give parts of its state to types of their own, as named fields",
				t.Name, place, t.Methods, methodSetMax))
		}
		if t.Shell != "" {
			bad = append(bad, fmt.Sprintf("%s (%s) is nothing but an embedded %s: it divides methods and no state", t.Name, place, t.Shell))
		}
	}
	for _, p := range shape.Packages(loaded) {
		if p.Name == "main" || p.Lines >= smallPackageMax || len(p.Importers) != 1 {
			continue
		}
		if !strings.Contains(strings.ReplaceAll(p.Doc, "\n", " "), ownPackage) {
			bad = append(bad, fmt.Sprintf("package %s has %d lines and only %s imports it: it goes there, or its comment says why it is a package of its own", p.Path, p.Lines, p.Importers[0]))
		}
	}
	return bad
}
