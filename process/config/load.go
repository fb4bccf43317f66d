package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"hemera/words/errs"
)

// DefaultFile is read if it exists and no other file is named.
const DefaultFile = "/etc/hemera/hemera.toml"

// FileVariable is the variable with the path of the file; --config takes precedence.
const FileVariable = envPrefix + "CONFIG"

// Sources has the sources of values; any may be empty.
type Sources struct {
	Flags *pflag.FlagSet                   // after parsing; with flags made by [Register]
	Env   func(name string) (string, bool) // as os.LookupEnv
	// File is read if neither --config nor the environment names a file; it may be missing.
	File string
	// Kept adds the settings of `hemera config set`, from [KeptFile] below the data directory. They take precedence over
	// File.
	Kept bool
	// Memory is the memory that the process may use, in bytes; some defaults depend on it.
	Memory int64
}

// FromProcess returns the environment of this process and the default file.
func FromProcess(flags *pflag.FlagSet) Sources {
	return Sources{Flags: flags, Env: os.LookupEnv, File: DefaultFile, Memory: MachineMemory()}
}

// Loaded has the settings in force, and the source of each. After Load only Note changes it, so concurrent readers need
// no lock.
type Loaded struct {
	Config
	values []Value // in the order of settings
}

// Load reads all sources and checks every value. The error joins one *errs.Error for each problem, of kind Invalid and
// with a remedy; after an error there is no usable configuration. It reads files and never writes. A named file must
// exist; the default file may be missing.
func Load(from Sources) (*Loaded, error) { return from.load(nil) }

// load loads with kept instead of the file of `hemera config set`, if it is not nil.
func (from Sources) load(kept *layer) (*Loaded, error) {
	if from.Env == nil {
		from.Env = func(string) (string, bool) { return "", false }
	}
	all := settings()
	path, required := from.path()
	file, err := readLayer(path, all, required)
	var wrong []error
	if err != nil && file.entries == nil {
		return nil, err
	} else if err != nil {
		wrong = append(wrong, err)
	}
	files := []layer{file}
	if from.Kept {
		if kept == nil {
			read, err := from.readKept(files)
			if err != nil {
				return nil, err
			}
			kept = &read
		}
		files = []layer{*kept, file} // the one with precedence first
	}
	l := &Loaded{}
	for _, s := range all {
		texts, source := from.find(s, files)
		// The other settings are checked also after an error.
		if err := s.set(&l.Config, texts); err != nil {
			if e, ok := file.entries[s.key]; !ok || len(e.texts) == 1 || s.list() { // otherwise readFile has reported it
				wrong = append(wrong, problem(s, fmt.Sprintf("%q", strings.Join(texts, ",")), source, err))
			}
		}
		l.values = append(l.values, Value{Key: s.key, Source: source, Doc: s.doc, setting: s})
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	// Defaults that depend on other values come last, when all values are known to be valid.
	l.fit()
	if l.Cache.Namespace == 0 {
		l.Cache.Namespace = cacheDefault(from.Memory)
	}
	for i, v := range l.values {
		l.values[i].Value = v.setting.text(&l.Config)
		// Only whether a secret is set may be visible.
		if v.setting.secret && l.values[i].Value != "" {
			l.values[i].Value = "(set, not shown)"
		}
	}
	return l, l.agree()
}

// path returns the file to read. One that the user named must exist; the default file need not.
func (from Sources) path() (path string, required bool) {
	if from.Flags != nil {
		if f := from.Flags.Lookup("config"); f != nil && f.Changed {
			return f.Value.String(), true
		}
	}
	if path, ok := from.Env(FileVariable); ok && path != "" {
		return path, true
	}
	return from.File, false
}

// find returns the texts for a setting from the source with the highest precedence. An empty variable of the environment
// counts as set: it makes a list empty. The second result is the name of the source, for people.
func (from Sources) find(s setting, files []layer) ([]string, string) {
	if from.Flags != nil {
		if f := from.Flags.Lookup(s.flag()); f != nil && f.Changed {
			return f.Value.(*flagValue).texts, "--" + s.flag()
		}
	}
	if text, ok := from.Env(s.env()); ok {
		return s.split(text), s.env()
	}
	for _, f := range files {
		if e, ok := f.entries[s.key]; ok && e.line > 0 {
			return e.texts, fmt.Sprintf("%s:%d", f.path, e.line)
		} else if ok {
			return e.texts, "config set" // as it is to be
		}
	}
	return s.split(s.byText), "default"
}

// split splits a comma-separated text into a list. It does not change the text of a setting with one value. Spaces around
// the parts are dropped, and so are empty parts: an element of a list can have neither a comma nor spaces at its ends.
func (s setting) split(text string) []string {
	if !s.list() {
		return []string{text}
	}
	parts := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// problem returns the error for one setting: key, bad value, its source, and the valid form. It does not repeat a secret,
// not even a wrong one.
func problem(s setting, value, source string, err error) *errs.Error {
	if s.secret {
		value = "the value"
	}
	return errs.New(errs.Invalid, "config.Load", s.key, fmt.Sprintf("%s (from %s) %v", value, source, err)).
		WithRemedy(fmt.Sprintf("change it there: %s is %s, for example %s", s.key, s.form(), s.example()))
}

// example returns a valid value, for errors: the default or, for settings that are empty by default, an example of its
// type.
func (s setting) example() string {
	switch {
	case s.byText != "":
		return s.byText
	case s.kind.String() == "[]netip.Prefix":
		return "10.1.0.0/16"
	case s.list():
		return "/disk1,/disk2"
	}
	return `""`
}

// sorted sorts errors by their text, so that a wrong file gives the same output every time. The file is a map, whose
// order changes from run to run.
func sorted(list []error) []error {
	slices.SortFunc(list, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return list
}
