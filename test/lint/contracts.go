package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// What a caller of an interface has to know, and no signature tells: on what a call fails, how long it takes, and what is left of it
// after a crash. The doc of the method says it, or that of the interface for all of its methods.
var (
	// failure names an error: a kind of words/errs, or an error that errors.Is finds.
	failure = regexp.MustCompile(`\b(Internal|Invalid|NotFound|Exists|IsDirectory|NotDirectory|NotEmpty|Denied|Unauthenticated|NoSpace|OverQuota|IO|Corrupt|Locked|Conflict|Unavailable|` +
		`Unsupported|TooLarge|ReadOnly|Cancelled|Timeout|BadHandle|NoReplicas|NoAttribute|Fenced|Overloaded|Err[A-Z]\w+|io\.EOF)\b`)
	// failing speaks of an error without a name, which takes a condition in the same sentence.
	failing   = regexp.MustCompile(`(?i)\b(errors?|fails?|failed|refuses?)\b`)
	condition = regexp.MustCompile(`(?i)\b(if|when|where|while|unless|until|after|before|without|never|only|alone|those of|that of|of its own)\b`)
	// waits says how long a call takes.
	waits = regexp.MustCompile(`(?i)\b(blocks?|waits?|at once|(from|in|of) memory|returns? (when|once|as soon as))\b`)
	// lasts says what of a change is left after a crash.
	lasts = regexp.MustCompile(`(?i)\b(durabl[ey]|durability|crash|outlasts?|(from|in|of) memory|power cut)\b`)
	// changes matches the names of methods that change something that others see later.
	changes = regexp.MustCompile(`^(Abort|Add|Append|Archive|Cancel|Chmod|Clone|Commit|Create|Delete|Enqueue|Evict|Expel|Flush|Forget|Keep|Link|Mark|Mkdir|Move|Note|Purge|Put|Record|` +
		`Register|Release|Remove|Rename|Repair|Replace|Restore|Save|Seal|Set|Sync|Truncate|Write)([A-Z]|$)`)
)

// contractless are folders whose interfaces do not count: pure rules neither wait nor change anything, and the others serve one program.
var contractless = []string{"rules", "cmd", "measure", "test"}

// Contracts returns the methods of shared interfaces whose contract is not said. An interface is shared if it is exported and a package other
// than its own names it. Of its methods those count that can fail or take a context; the others answer from memory. A doc may link to the
// method of its package that has the contract: [Writes.Commit].
func Contracts(files []*File) (bad []string) {
	used := map[string]bool{}   // by "directory.Name"
	docs := map[string]string{} // of methods, by "directory.Type.Method"
	for _, f := range files {
		if f.Test {
			continue
		}
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				docs[f.Package+"."+receiverName(fn)+"."+fn.Name.Name] = text(fn.Doc)
			}
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok {
					if dir, ok := f.imported(x.Name); ok {
						used[dir+"."+s.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	for _, f := range files {
		folder, _, _ := strings.Cut(f.Path, "/")
		if f.Test || slices.Contains(contractless, folder) {
			continue
		}
		for _, d := range f.AST.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, s := range group.Specs {
				of := s.(*ast.TypeSpec)
				if i, ok := of.Type.(*ast.InterfaceType); ok && of.Name.IsExported() && used[f.Package+"."+of.Name.Name] {
					bad = append(bad, f.contract(of.Name.Name, text(of.Doc, group.Doc), i, docs)...)
				}
			}
		}
	}
	slices.Sort(bad)
	return bad
}

// docLink matches a link of a doc comment to a method of the same package.
var docLink = regexp.MustCompile(`\[([A-Z]\w*\.[A-Z]\w*)\]`)

// contract returns what the methods of one interface leave out. all is the doc of the interface, docs has those of methods, for links.
func (f *File) contract(name, all string, i *ast.InterfaceType, docs map[string]string) (bad []string) {
	for _, m := range i.Methods.List {
		signature, ok := m.Type.(*ast.FuncType)
		if !ok || len(m.Names) == 0 { // an embedded interface says its own
			continue
		}
		fails, cancels := returnsError(signature), takesContext(signature)
		if !fails && !cancels {
			continue
		}
		said := all + " " + text(m.Doc, m.Comment)
		for _, link := range docLink.FindAllStringSubmatch(said, -1) {
			said += " " + docs[f.Package+"."+link[1]]
		}
		var missing []string
		if fails && !namesFailure(said) {
			missing = append(missing, "on what it fails (a kind of errs, or an error and its condition)")
		}
		if !waits.MatchString(said) {
			missing = append(missing, "whether it blocks, waits or returns at once")
		}
		if changes.MatchString(m.Names[0].Name) && !lasts.MatchString(said) {
			missing = append(missing, "what of the change is durable")
		}
		if len(missing) > 0 {
			bad = append(bad, fmt.Sprintf("%s: %s.%s does not say %s: there or in the doc of the interface", f.at(m), name, m.Names[0].Name, strings.Join(missing, "; ")))
		}
	}
	return bad
}

// sentenceEnd matches the end of a sentence, or of a part of one.
var sentenceEnd = regexp.MustCompile(`[.;:]\s`)

// namesFailure reports whether a text names an error, or says of one on what condition it comes.
func namesFailure(said string) bool {
	return failure.MatchString(said) || slices.ContainsFunc(sentenceEnd.Split(said, -1), func(sentence string) bool {
		return failing.MatchString(sentence) && condition.MatchString(sentence)
	})
}

// text returns comments as one line.
func text(groups ...*ast.CommentGroup) string {
	var words []string
	for _, g := range groups {
		words = append(words, strings.Fields(g.Text())...)
	}
	return strings.Join(words, " ")
}

// returnsError reports whether the last result is an error.
func returnsError(t *ast.FuncType) bool {
	if t.Results == nil {
		return false
	}
	last, ok := t.Results.List[len(t.Results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}

// takesContext reports whether the first parameter is a context.
func takesContext(t *ast.FuncType) bool {
	if len(t.Params.List) == 0 {
		return false
	}
	s, ok := t.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Context"
}
