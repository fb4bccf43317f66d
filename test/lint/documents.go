package lint

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// requirement finds a module in go.mod and what is said behind it.
var requirement = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.-]+\.[a-z]+/\S+) v\S+(.*)$`)

// Modules names each direct requirement of go.mod without a row in the table of modules of
// docs/DECISIONS.md, and each row without its requirement.
// A row of the table has two cells: modules, separated by commas, and the reason. The text around the outer bars makes four.
func Modules(goMod, decisions string) (bad []string) {
	_, table, _ := strings.Cut(decisions, "\n## Modules\n") // its last section
	direct := map[string]bool{}                             // false for modules that only others need
	for _, m := range requirement.FindAllStringSubmatch(goMod, -1) {
		direct[m[1]] = !strings.Contains(m[2], "indirect")
	}
	reasons := map[string]bool{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		// Other lines are the heading, the rule below it, or text.
		if len(cells) != 4 || strings.TrimSpace(cells[2]) == "" {
			continue
		}
		for module := range strings.SplitSeq(cells[1], ",") {
			// A cell without a slash is the heading.
			if module = strings.TrimSpace(module); strings.Contains(module, "/") {
				reasons[module] = true
			}
		}
	}
	for m := range direct {
		if direct[m] && !reasons[m] {
			bad = append(bad, fmt.Sprintf("go.mod requires %s: give the reason in docs/DECISIONS.md", m))
		}
	}
	for m := range reasons {
		if !direct[m] {
			bad = append(bad, fmt.Sprintf("docs/DECISIONS.md has a reason for %s, which go.mod does not require", m))
		}
	}
	return bad
}

// Skips names each conformance check that is left out without a row in docs/DECISIONS.md.
// A row is any mention of the check's name.
func Skips(skips, decisions string) (bad []string) {
	for line := range strings.SplitSeq(skips, "\n") {
		// Behind "#" stands a comment.
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 0 && !strings.Contains(decisions, f[0]) {
			bad = append(bad, fmt.Sprintf("scripts/conformance-skips leaves out %s: give the reason in docs/DECISIONS.md", f[0]))
		}
	}
	return bad
}

var (
	// mdLink finds links to files; a URL has a colon.
	mdLink = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	// goFile and goName find "package/file.go" and "package/file.go: Name" in prose, as ARCHITECTURE.md writes its walks.
	goFile = regexp.MustCompile(`\b[a-z]+(?:/[a-z]+)*/[a-z_0-9]+\.go\b`)
	goName = regexp.MustCompile(`\b([a-z]+(?:/[a-z]+)*/[a-z_0-9]+\.go): (?:[A-Za-z]+\.)?([A-Za-z]+)`)
)

// References names each link of a document, and each Go file and "file.go: name" it speaks of, that
// leads nowhere. name is the document's path below root.
func References(root, name, text string) (bad []string) {
	// A target may be a directory: it is enough that a reader gets somewhere.
	missing := func(target string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(target)))
		return err != nil
	}
	for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
		if missing(path.Join(path.Dir(name), m[1])) {
			bad = append(bad, fmt.Sprintf("%s links to %s, which is not there", name, m[1]))
		}
	}
	// Only files are looked up: a package in prose may be one of another module.
	for _, file := range goFile.FindAllString(text, -1) {
		if missing(file) {
			bad = append(bad, fmt.Sprintf("%s speaks of %s, which is not there", name, file))
		}
	}
	for _, m := range goName.FindAllStringSubmatch(text, -1) {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m[1])))
		// A function, a method, a type, or a name in a group of constants or in a struct.
		// Names in groups are indented by one tab.
		declared := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |\t?)` + m[2] + `\b`)
		if err == nil && !declared.Match(data) {
			bad = append(bad, fmt.Sprintf("%s speaks of %s in %s, which does not have it", name, m[2], m[1]))
		}
	}
	return bad
}

// documentLineMax is the longest line of a document, in characters: what a reader sees whole beside a window.
const documentLineMax = 160

// Lines names each line of a document that is too long. Code and tables cannot be broken.
func Lines(name, text string) (bad []string) {
	code := false // in a block between fences
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		trimmed := strings.TrimLeft(line, " ")
		if strings.HasPrefix(trimmed, "```") {
			code = !code
		}
		if code || strings.HasPrefix(line, "    ") || strings.HasPrefix(trimmed, "|") {
			// Indented lines are code as well.
			continue
		}
		// Characters, not bytes: documents have arrows and units.
		if n := utf8.RuneCountInString(line); n > documentLineMax {
			bad = append(bad, fmt.Sprintf("%s:%d has %d characters, the most is %d: break the line", name, number, n, documentLineMax))
		}
	}
	return bad
}

// Pictures names each text of docs/diagrams below root whose picture is missing or of another text.
func Pictures(root string) (bad []string) {
	// Without texts the rule would be satisfied by an empty directory.
	texts, err := filepath.Glob(filepath.Join(root, "docs/diagrams/*"))
	if err != nil || len(texts) == 0 {
		return []string{"docs/diagrams has no text"}
	}
	for _, name := range texts {
		text, err := os.ReadFile(name)
		if err != nil {
			return append(bad, err.Error())
		}
		// A picture carries the checksum of its text, so it need not be drawn here to be compared.
		base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		picture, err := os.ReadFile(filepath.Join(root, "docs/img", base+".svg"))
		if sum := fmt.Sprintf("sha256 %x", sha256.Sum256(text)); err != nil || !strings.Contains(string(picture), sum) {
			bad = append(bad, fmt.Sprintf("docs/img/%s.svg is not of its text: run make diagrams", base))
		}
	}
	return bad
}
