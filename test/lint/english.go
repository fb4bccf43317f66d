package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// phrase is wording that readers stop at, and what to write instead (docs/STYLE.md).
type phrase struct {
	found   *regexp.Regexp // in a comment, a text of the code, or a line of a document
	instead string         // what a finding recommends
}

// phrases is the list of words. Each entry was written in this tree once, and misread.
var phrases = []phrase{
	{regexp.MustCompile(`(?i)\banew\b`), "again, or new"},
	{regexp.MustCompile(`(?i)\bwho(so)?ever\b`), "a client that, a caller that"},
	{regexp.MustCompile(`(?:^|[.;:] |\n)Who (?:[a-z]+s|is|has|had|was|does|can|may|must)\b[^.?!]*(?:[.!]|$)`), "a client that, a caller that"}, // not a question
	{regexp.MustCompile(`(?i)\b(one|none|some|each|both|all|most|two) of (which|whom)\b`), "two sentences"},
	{regexp.MustCompile(`(?i)[,;] of which\b`), "two sentences"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|gets?) (told|asked) (that|to|whether|about)\b`), "the active voice: X asks Y, X tells Y"},
	{regexp.MustCompile(`(?i)\b(himself|herself)\b`), "itself, or themselves"},
	{regexp.MustCompile(`(?i)\b(lest|hence|whence|thereof|thereby|therein|whereof|wherein|whereupon|thereupon)\b`), "so that, therefore, or nothing"},
	{regexp.MustCompile(`(?i)\b(evacuate[sd]?|evacuator|exhume|prospect|overtak(e|es|en|ing)|glance)\b`), "the term of the glossary"},
	{regexp.MustCompile(`(?i)\blets? go of\b`), "releases, closes"},
	{regexp.MustCompile(`(?i)\b(make|makes|made) whole\b`), "repair"},
	{regexp.MustCompile(`(?i)\b(gives?|gave|given) (it |them |one |the [a-z]+ |a [a-z]+ )?up\b`), "cancels, aborts, stops"},
	{regexp.MustCompile(`\b([Hh]e|[Hh]is|[Hh]im|[Ss]he)\b`), "it, they, or the noun"},
}

// Phrases names each use of a word or phrase of the list in a text.
// Each phrase is named once for a text, by its first use.
func Phrases(where, text string) (bad []string) {
	for _, p := range phrases {
		if m := p.found.FindString(text); m != "" {
			bad = append(bad, fmt.Sprintf("%s: %q: write %s", where, strings.TrimSpace(m), p.instead))
		}
	}
	return bad
}

// English names each use of the list in comments and texts of the sources. Texts are judged only where they hold more
// than one word: others are keys of formats and protocols.
func English(files []*File) (bad []string) {
	for _, f := range files {
		if f.Package == "test/lint" {
			continue // it holds the list
		}
		// Comments of tests count: they are read as much as others.
		for _, group := range f.AST.Comments {
			bad = append(bad, Phrases(f.at(group), group.Text())...)
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			// More than one blank: two words and more.
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Count(l.Value, " ") > 1 && !f.Test {
				bad = append(bad, Phrases(f.at(l), l.Value)...)
			}
			return true
		})
	}
	return bad
}

// Prose names each use of the list in a document, line by line. Code is left out.
// Indented lines are code as well as those between fences.
func Prose(name, text string) (bad []string) {
	code := false
	for number, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if !code && !strings.HasPrefix(line, "    ") {
			bad = append(bad, Phrases(fmt.Sprintf("%s:%d", name, number+1), line)...)
		}
	}
	return bad
}

// paragraphLinesMax is the longest paragraph of a document.
const paragraphLinesMax = 7

// Paragraphs names each paragraph or item of a list in a document that is too long. Code and tables are none.
// A paragraph ends at an empty line, a heading, a table, code, or the next item.
func Paragraphs(name, text string) (bad []string) {
	code, count, start := false, 0, 0                          // in a block of code; lines of the paragraph so far, and where it began
	for number, line := range strings.Split(text+"\n", "\n") { // an empty line more, so that the last paragraph ends too
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			code = !code
			trimmed = ""
		}
		item := strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* ") || orderedItem.MatchString(trimmed)
		if code || trimmed == "" || item || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(line, "    ") {
			if count > paragraphLinesMax {
				bad = append(bad, fmt.Sprintf("%s:%d: a paragraph of %d lines, the most is %d: make two, or a list", name, start, count, paragraphLinesMax))
			}
			count = 0
			if !item { // the first line of an item is the first of its paragraph
				continue
			}
		}
		if count == 0 {
			start = number + 1
		}
		count++
	}
	return bad
}

// orderedItem begins an item of a numbered list.
var orderedItem = regexp.MustCompile(`^\d+\. `)
