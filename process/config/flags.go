package config

import (
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// Register adds --config and the flags of settings to a flag set: all settings, or those in the named sections or with
// the named keys ("port", "auth"). [Load] checks their values. It panics, as pflag does, if the set has a flag of the
// same name.
func Register(flags *pflag.FlagSet, only ...string) {
	flags.String("config", "", "TOML file with settings (default "+DefaultFile+" if it exists)")
	for _, s := range settings() {
		if len(only) > 0 && !s.within(only) {
			continue
		}
		f := flags.VarPF(&flagValue{setting: s}, s.flag(), "", s.sentence())
		// For help only. The value stays empty, and Load checks whether the flag was changed.
		f.DefValue = s.byText
		if s.kind.Kind() == reflect.Bool {
			f.NoOptDefVal = "true"
		}
	}
}

// within reports whether the setting is one of the keys, or below one of them. A command registers only the flags that it
// uses.
func (s setting) within(only []string) bool {
	for _, o := range only {
		if s.key == o || strings.HasPrefix(s.key, o+".") {
			return true
		}
	}
	return false
}

// flagValue keeps the text of a flag; a list's flag may be given several times. It parses nothing: Load reports a wrong
// value, together with all others and with its source.
type flagValue struct {
	setting setting
	texts   []string
}

// Set implements pflag.Value. For a setting with one value, the last one counts.
func (f *flagValue) Set(text string) error {
	if !f.setting.list() {
		f.texts = nil
	}
	f.texts = append(f.texts, f.setting.split(text)...)
	return nil
}

// String implements pflag.Value.
func (f *flagValue) String() string {
	if f == nil {
		return ""
	}
	return strings.Join(f.texts, ",")
}

// Type implements pflag.Value. It returns the word that help shows for the value.
func (f *flagValue) Type() string {
	switch t := f.setting.kind; {
	case t.String() == "config.Bytes":
		return "size"
	case t.String() == "time.Duration":
		return "duration"
	case t.String() == "[]netip.Prefix":
		return "networks"
	case f.setting.list():
		return "list"
	case t.Kind() == reflect.Bool:
		return "bool"
	case t.String() == "int":
		return "number"
	}
	return "text"
}
