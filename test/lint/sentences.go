package lint

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// nounDoc matches the doc comment of a function that says "Name is ..." or "Name are ...".
var nounDoc = regexp.MustCompile(`^(\w+) (is|are) `)

// clauseComment matches a comment that begins with a name and a clause in place of a noun: "X is what it waits for".
var clauseComment = regexp.MustCompile(`^(\S+) (is|are) (what|who|how|when|where|why)\b`)

// Sentences returns the comments that hide their verb. A function does something: "Name returns ...", "Name reports whether ...", and not
// "Name is ...". A constant, a field or a type is a noun: "grace is the time that ...", and not "grace is how long ...".
func Sentences(files []*File) (bad []string) {
	for _, f := range files {
		bad = append(bad, f.sentences()...)
	}
	slices.Sort(bad)
	return bad
}

// sentences returns the comments of one file that hide their verb.
func (f *File) sentences() (bad []string) {
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		if m := nounDoc.FindStringSubmatch(opening(fn.Doc)); m != nil && m[1] == fn.Name.Name {
			bad = append(bad, fmt.Sprintf("%s: a function does something: write \"%s returns\", \"reports whether\" or another verb, not %q", f.at(fn.Doc), m[1], m[2]))
		}
	}
	for _, group := range f.AST.Comments {
		if m := clauseComment.FindStringSubmatch(opening(group)); m != nil {
			bad = append(bad, fmt.Sprintf("%s: %q: write the noun (the time, the number, the reason, the state), not a clause", f.at(group), m[0]))
		}
	}
	return bad
}

// opening returns the beginning of a comment as one line.
func opening(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
