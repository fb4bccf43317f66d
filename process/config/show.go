package config

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Value is one setting in force. Secrets are masked.
type Value struct {
	Key    string `json:"key"`    // with dots: repair.grace
	Value  string `json:"value"`  // as a user would write it
	Source string `json:"source"` // "--port", "HEMERA_PORT", "hemera.toml:3", "default"
	Doc    string `json:"doc"`    // the meaning, in one sentence

	setting setting // not in JSON
}

// Values lists every setting in the order of [Config]. The slice belongs to the caller.
func (l *Loaded) Values() []Value { return slices.Clone(l.values) }

// Example prints a file with every setting, its meaning and its default. The file changes nothing: every line is a
// comment or the name of a table.
func Example(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Hemera's settings. Every line that begins with # shows a default.\n")
	section := ""
	for _, s := range settings() {
		table, name, found := strings.Cut(s.key, ".")
		if !found {
			table, name = "", s.key
		}
		if table != section {
			section = table
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "\n# %s\n# %s = %s\n", s.sentence(), name, s.toml())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sentence returns the doc text with the possible values, for help, the example file and the table of the documentation.
func (s setting) sentence() string {
	text := s.doc
	if len(s.oneof) > 0 {
		text += " (" + strings.Join(s.oneof, ", ") + ")"
	}
	return text
}

// toml returns the default as TOML. Numbers and booleans have no quotes; all else is text.
func (s setting) toml() string {
	switch s.kind.String() {
	case "int", "bool":
		return s.byText
	}
	if s.list() {
		parts := s.split(s.byText)
		for i := range parts {
			parts[i] = fmt.Sprintf("%q", parts[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprintf("%q", s.byText)
}

// Note makes Values show the value that a server chose for a setting, and why, if neither a person nor a default set it.
// It does not change the setting. It ignores an unknown key.
func (l *Loaded) Note(key, value, source string) {
	for i := range l.values {
		if l.values[i].Key == key {
			l.values[i].Value, l.values[i].Source = value, source
		}
	}
}
