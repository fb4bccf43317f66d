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

// DefaultFile is read when it exists and no other file is named.
const DefaultFile = "/etc/hemera/hemera.toml"

// FileVariable names the file in the environment; --config is stronger.
const FileVariable = envPrefix + "CONFIG"

// Sources are where values come from; any may be empty.
type Sources struct {
	Flags *pflag.FlagSet                   // after parsing; with flags made by [Register]
	Env   func(name string) (string, bool) // as os.LookupEnv
	// File is read when neither --config nor the environment names one; missing is no error.
	File string
	// Kept adds what `hemera config set` set, from [KeptFile] below the data directory. It is stronger than File.
	Kept bool
	// Memory is what the process may use, in bytes: some defaults follow it.
	Memory int64
}

// FromProcess is the environment of this process and the default file.
func FromProcess(flags *pflag.FlagSet) Sources {
	return Sources{Flags: flags, Env: os.LookupEnv, File: DefaultFile, Memory: MachineMemory()}
}

// Loaded is the settings in force, and where each came from.
// After Load only Note changes it, so concurrent readers need no lock.
type Loaded struct {
	Config
	values []Value // in the order of settings
}

// Load reads all sources and checks every value. The error joins one *errs.Error for each thing that
// is wrong, kind Invalid, each with a remedy; nothing of a configuration with an error is usable.
// It reads files and never writes. A file that is named and missing is an error; the default file may be missing.
func Load(from Sources) (*Loaded, error) { return from.load(nil) }

// load loads with kept in place of the file of `hemera config set`, if it is not nil.
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
		files = []layer{*kept, file} // the strongest first
	}
	l := &Loaded{}
	for _, s := range all {
		texts, source := from.find(s, files)
		// After an error the other settings are checked all the same.
		if err := s.set(&l.Config, texts); err != nil {
			if e, ok := file.entries[s.key]; !ok || len(e.texts) == 1 || s.list() { // else readFile has said so
				wrong = append(wrong, problem(s, fmt.Sprintf("%q", strings.Join(texts, ",")), source, err))
			}
		}
		l.values = append(l.values, Value{Key: s.key, Source: source, Doc: s.doc, setting: s})
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	// Defaults that follow other values come last, when all values are known to be valid.
	l.fit()
	if l.Cache.Namespace == 0 {
		l.Cache.Namespace = cacheDefault(from.Memory)
	}
	for i, v := range l.values {
		l.values[i].Value = v.setting.text(&l.Config)
		// Only whether a secret is set may be seen.
		if v.setting.secret && l.values[i].Value != "" {
			l.values[i].Value = "(set, not shown)"
		}
	}
	return l, l.agree()
}

// path is the file to read. One that the user named must exist; the default file need not.
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

// find is the strongest source's texts for a setting.
// An empty variable of the environment counts as set: it makes a list empty. The second result is the name of the
// source, for people.
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

// split makes a list of a comma-separated text, and leaves a single value alone.
// Spaces around the parts are dropped, and so are empty parts: a value of a list can have neither a comma nor
// spaces at its ends.
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

// problem is the error of one setting: key, bad value, where it came from, what would be right.
// A secret is not repeated, not even a wrong one.
func problem(s setting, value, source string, err error) *errs.Error {
	if s.secret {
		value = "the value"
	}
	return errs.New(errs.Invalid, "config.Load", s.key, fmt.Sprintf("%s (from %s) %v", value, source, err)).
		WithRemedy(fmt.Sprintf("change it there: %s is %s, for example %s", s.key, s.form(), s.example()))
}

// example is a valid value, for errors.
// The default is the best example. Settings that are empty by default have one by their type.
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

// sorted orders errors by their text, so that a wrong file gives the same output every time.
// The file is a map, whose order changes from run to run.
func sorted(list []error) []error {
	slices.SortFunc(list, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return list
}
