package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// module is the path of this tree in import paths.
const module = "hemera"

// File is one Go source file of the tree, parsed with comments.
type File struct {
	// Path is from the root, with slashes, also on systems with other ones.
	Path    string
	Package string         // directory from the root, "." for the root
	Test    bool           // a file of a test, also in package x_test
	Lines   int            // newlines, so the same number that wc -l prints
	Text    string         // as it is on disk, for rules on characters
	AST     *ast.File      // with comments
	Set     *token.FileSet // shared by all files; turns positions into lines
}

// Load parses every Go file below root, without testdata, hidden directories and build, where tools are put.
func Load(root string) ([]*File, error) {
	var files []*File
	set := token.NewFileSet() // one for all files, so that positions can be compared
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		// testdata may hold Go code that is wrong on purpose.
		case d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || name == filepath.Join(root, "build")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text := string(data)
		parsed, err := parser.ParseFile(set, name, data, parser.ParseComments)
		// A file that does not parse ends the run: rules would pass over it otherwise.
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		files = append(files, &File{
			Path: rel, Package: path.Dir(rel), Test: strings.HasSuffix(rel, "_test.go"),
			Lines: strings.Count(text, "\n"), Text: text, AST: parsed, Set: set,
		})
		return nil
	})
	return files, err
}

// line returns the number of a position's line, from 1.
func (f *File) line(p token.Pos) int { return f.Set.Position(p).Line }

// at returns a node's place as editors and terminals link it.
func (f *File) at(n ast.Node) string { return fmt.Sprintf("%s:%d", f.Path, f.line(n.Pos())) }

// imported returns the directory of the package of this tree that a file knows by a name.
func (f *File) imported(name string) (dir string, ok bool) {
	for _, i := range f.AST.Imports {
		target, _ := strconv.Unquote(i.Path.Value)
		if target != module && !strings.HasPrefix(target, module+"/") {
			continue
		}
		// Without a name in the import, the last part of the path is taken for the package's.
		local := path.Base(target)
		if i.Name != nil {
			local = i.Name.Name
		}
		if local == name {
			if dir = strings.TrimPrefix(strings.TrimPrefix(target, module), "/"); dir == "" {
				dir = "."
			}
			return dir, true
		}
	}
	return "", false
}
