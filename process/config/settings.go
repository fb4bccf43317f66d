package config

import (
	"encoding"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// setting is one leaf of Config, as its tags describe it. It is never changed. Lists of it are made by reflection at each
// call, so the package needs no state.
type setting struct {
	key      string       // "repair.grace"
	byFlag   string       // the flag's name if it is not made from the key
	index    []int        // of the field, for reflect
	kind     reflect.Type // of the field
	byText   string       // the default as written
	doc      string       // the description
	min, max string       // as written; "" for no limit
	oneof    []string     // possible words; none: any
	secret   bool         // never shown
	live     bool         // can change while the server runs
}

// flag returns the name of the setting's flag.
func (s setting) flag() string {
	if s.byFlag != "" {
		return s.byFlag
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.key)
}

// env returns the name of the setting's environment variable: HEMERA_HTTP_METRICS_NETWORKS for http.metrics_networks.
func (s setting) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// list reports whether the setting takes any number of values.
func (s setting) list() bool { return s.kind.Kind() == reflect.Slice }

// settings lists every leaf of Config in the order of the struct, which is also the order in help and documentation.
func settings() []setting { return leaves(reflect.TypeFor[Config](), "", nil) }

// leaves lists the settings of a struct type and of the structs in it. A field with the tag doc is a setting; index is
// its path from Config.
func leaves(t reflect.Type, prefix string, index []int) []setting {
	var all []setting
	for i := range t.NumField() {
		f := t.Field(i)
		// A copy, so that fields do not share the array.
		at := append(append([]int(nil), index...), i)
		key := prefix + f.Tag.Get("key")
		if _, leaf := f.Tag.Lookup("doc"); !leaf {
			all = append(all, leaves(f.Type, key+".", at)...)
			continue
		}
		all = append(all, setting{
			key: key, byFlag: f.Tag.Get("flag"), index: at, kind: f.Type, byText: f.Tag.Get("default"), doc: f.Tag.Get("doc"),
			min: f.Tag.Get("min"), max: f.Tag.Get("max"), oneof: strings.Fields(f.Tag.Get("oneof")),
			secret: f.Tag.Get("secret") == "true", live: f.Tag.Get("live") == "true",
		})
	}
	return all
}

// set parses texts into the setting's field: one text, or any number for a list. After an error the field has an unknown
// value; Load then returns no configuration.
func (s setting) set(c *Config, texts []string) error {
	field := reflect.ValueOf(c).Elem().FieldByIndex(s.index)
	if !s.list() {
		// A flag may be repeated, and a file may have a list.
		if len(texts) != 1 {
			return fmt.Errorf("takes one value, not %d", len(texts))
		}
		return s.parse(field, texts[0])
	}
	list := reflect.MakeSlice(s.kind, len(texts), len(texts))
	for i, text := range texts {
		if err := s.parse(list.Index(i), text); err != nil {
			return err
		}
	}
	field.Set(list)
	return nil
}

// parse reads one value and checks it against the limits. Its errors say which values are valid.
func (s setting) parse(into reflect.Value, text string) error {
	number, isNumber, err := s.convert(into, text)
	if err != nil {
		return err
	}
	// Words are compared exactly: YES is not on.
	for _, word := range s.oneof {
		if word == text {
			return nil
		}
	}
	if len(s.oneof) > 0 {
		return fmt.Errorf("must be one of %s", strings.Join(s.oneof, ", "))
	}
	if !isNumber {
		return nil
	}
	// Limits are written like values, so they are parsed like values.
	limit := reflect.New(into.Type()).Elem()
	if low, _, err := s.convert(limit, s.min); s.min != "" && err == nil && number < low {
		return fmt.Errorf("must be at least %s", s.min)
	}
	if high, _, err := s.convert(limit, s.max); s.max != "" && err == nil && number > high {
		return fmt.Errorf("must be at most %s", s.max)
	}
	return nil
}

// convert reads a text by the type of the field. It also returns numbers, durations and sizes, for the comparison with
// limits. A new type here must be added to form, and to Type of the flag.
func (s setting) convert(into reflect.Value, text string) (number int64, isNumber bool, err error) {
	switch v := into.Addr().Interface().(type) {
	case *time.Duration:
		// time.Duration is an int64 with its own syntax.
		if *v, err = time.ParseDuration(text); err != nil {
			return 0, false, fmt.Errorf("must be a duration like 500ms, 30s or 24h")
		}
		return int64(*v), true, nil
	case encoding.TextUnmarshaler:
		if err := v.UnmarshalText([]byte(text)); err != nil {
			return 0, false, fmt.Errorf("must be %s", s.form())
		}
		// Sizes have limits; networks and levels do not.
		if size, ok := v.(*Bytes); ok {
			return int64(*size), true, nil
		}
		return 0, false, nil
	case *string:
		*v = text
		return 0, false, nil
	case *bool:
		if *v, err = strconv.ParseBool(text); err != nil {
			return 0, false, fmt.Errorf("must be true or false")
		}
		return 0, false, nil
	case *int:
		if *v, err = strconv.Atoi(text); err != nil {
			return 0, false, fmt.Errorf("must be a whole number")
		}
		return int64(*v), true, nil
	}
	return 0, false, fmt.Errorf("has type %v, which settings cannot have", into.Type())
}

// form describes in words how a value is written, as in errors after "is" and "must be".
func (s setting) form() string {
	t := s.kind
	if s.list() {
		t = t.Elem()
	}
	switch t.String() {
	case "config.Bytes":
		return "a size like 512MiB or 4GiB"
	case "time.Duration":
		return "a duration like 30s"
	case "netip.Prefix":
		return "a network like 10.1.0.0/16 or fd00::/8"
	case "auth.Network":
		return "a network like 10.1.0.0/16 or fd00::/8, alone or with =squash, =own or =nobody behind it"
	case "slog.Level":
		return "debug, info, warn or error"
	case "int":
		return "a whole number"
	case "bool":
		return "true or false"
	}
	return "text"
}

// text returns the setting's value as a user would write it. A list is joined by commas.
func (s setting) text(c *Config) string {
	v := reflect.ValueOf(c).Elem().FieldByIndex(s.index)
	if !s.list() {
		return one(v)
	}
	parts := make([]string, v.Len())
	for i := range parts {
		parts[i] = one(v.Index(i))
	}
	return strings.Join(parts, ",")
}

// one returns a single value as a user would write it.
func one(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case slog.Level:
		return strings.ToLower(x.String())
	case time.Duration:
		return shortDuration(x)
	}
	return fmt.Sprint(v.Interface())
}

// shortDuration returns Duration.String without zeros at the end: "24h", not "24h0m0s". time.ParseDuration reads it as
// the same duration.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
