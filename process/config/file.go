package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"hemera/words/errs"
)

// entry is one value of the file, as text.
type entry struct {
	texts []string // nil for a table, empty for a list without values
	line  int      // of the key, from 1
}

// layer is one file's values.
type layer struct {
	path    string
	entries map[string]entry // by key; nil if the file cannot be read or parsed
}

// readLayer reads the values of a file; path may be empty. A file that is not required may be missing.
func readLayer(path string, known []setting, required bool) (layer, error) {
	empty := layer{path, map[string]entry{}}
	if path == "" {
		return empty, nil
	}
	read, err := readFile(path, known)
	if !required && errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	return layer{path, read}, err
}

// fileMax bounds the size of the file; one with every setting has a few kilobytes.
const fileMax = 1 << 20

// readFile reads the file's values by key, and reports keys that are not settings. It returns the values with the error,
// so that Load can report all errors; they are nil if the file cannot be read or parsed.
func readFile(path string, known []setting) (map[string]entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &errs.Error{Kind: errs.KindOf(err), Op: "config.Load", Subject: path, Cause: err,
			Remedy: "name a file that this user can read, with --config or " + FileVariable}
	}
	// Checked after reading, because a device or pipe has no size.
	if len(data) > fileMax {
		return nil, errs.New(errs.TooLarge, "config.Load", path, fmt.Sprintf("a configuration file has at most %d bytes", fileMax))
	}
	entries, err := parseFile(data, path)
	if err != nil {
		return nil, err
	}
	byKey := map[string]setting{}
	for _, s := range known {
		byKey[s.key] = s
	}
	var wrong []error
	for key, e := range entries {
		s, ok := byKey[key]
		where := fmt.Sprintf("%s:%d", path, e.line)
		switch {
		case !ok:
			wrong = append(wrong, errs.New(errs.Invalid, "config.Load", key, "is not a setting (from "+where+")").WithRemedy(suggest(key, known)))
		// [port] instead of port = …
		case e.texts == nil:
			wrong = append(wrong, problem(s, "a table", where, errors.New("takes a value")))
		case len(e.texts) != 1 && !s.list():
			wrong = append(wrong, problem(s, "a list", where, errors.New("takes one value")))
		}
	}
	return entries, errors.Join(sorted(wrong)...)
}

// parseFile checks the whole file with the TOML decoder first, which finds duplicate keys and knows the whole grammar;
// then it walks the same bytes for values with their lines.
func parseFile(data []byte, path string) (map[string]entry, error) {
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		where := path
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			where = fmt.Sprintf("%s:%d:%d", path, line, column)
		}
		return nil, &errs.Error{Kind: errs.Invalid, Op: "config.Load", Subject: where, Cause: err,
			Remedy: "values are written like port = 1094, text and sizes in quotes; hemera config example prints a whole file"}
	}
	// The decoder does not report lines, so the grammar is walked a second time.
	w := walker{entries: map[string]entry{}}
	w.parser.Reset(data)
	table := ""
	for w.parser.NextExpression() {
		e := w.parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = w.key("", e)
			// [[node]]: no setting is a list of tables.
			if e.Kind == unstable.ArrayTable {
				w.entries[table] = entry{line: w.line}
			}
		case unstable.KeyValue:
			w.value(w.key(table, e), e.Value())
		}
	}
	return w.entries, errs.As(w.parser.Error(), errs.Invalid, "config.Load", path)
}

// walker collects the values of a TOML file, with their lines.
type walker struct {
	parser  unstable.Parser  // of the bytes; its nodes are valid until the next expression
	entries map[string]entry // by whole key
	line    int              // of the last key
}

// key joins a table's name and a node's key.
func (w *walker) key(table string, n *unstable.Node) string {
	var parts []string
	if table != "" {
		parts = append(parts, table)
	}
	for k := n.Key(); k.Next(); {
		parts = append(parts, string(k.Node().Data))
		w.line = w.parser.Shape(k.Node().Raw).Start.Line
	}
	return strings.Join(parts, ".")
}

// value records a value, or all elements of a list. A table is recorded without texts, which is an error later.
func (w *walker) value(key string, v *unstable.Node) {
	switch v.Kind {
	case unstable.InlineTable:
		for c := v.Children(); c.Next(); {
			w.value(w.key(key, c.Node()), c.Node().Value())
		}
	case unstable.Array:
		e := entry{line: w.line, texts: []string{}}
		for c := v.Children(); c.Next(); {
			e.texts = append(e.texts, text(c.Node()))
		}
		w.entries[key] = e
	default:
		w.entries[key] = entry{texts: []string{text(v)}, line: w.line}
	}
}

// text returns a scalar in the form of a flag: TOML's integers may be 1_094 or 0x446.
func text(n *unstable.Node) string {
	if n.Kind == unstable.Integer {
		if i, err := strconv.ParseInt(string(n.Data), 0, 64); err == nil {
			return strconv.FormatInt(i, 10)
		}
	}
	return string(n.Data)
}

// suggest returns a remedy with the setting that was probably meant. A key that resembles none should be removed.
func suggest(key string, known []setting) string {
	var keys []string
	for _, s := range known {
		keys = append(keys, s.key)
	}
	if meant := nearest(key, keys, ""); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "remove it; hemera config show lists all settings"
}

// editDistance returns Levenshtein's distance, for short words. It compares bytes, which is enough for keys. It keeps one
// row of the table: row[j] is the distance from the part of a so far to b[:j].
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
