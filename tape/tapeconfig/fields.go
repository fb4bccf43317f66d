package tapeconfig

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// setFields sets fields of an object by the names of its JSON. Who made the object is nobody's to set.
func setFields(o object, values map[string]string) error {
	// The embedded log has no name in the JSON, so its fields are not in the map.
	fields := map[string]reflect.Value{}
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("json"); name != "" {
			fields[name] = v.Field(i)
		}
	}
	fields["comment"] = reflect.ValueOf(&o.log().Comment).Elem()
	// In order, so that of several mistakes the same is named each time.
	for _, name := range sortedNames(values) {
		field, there := fields[name]
		if !there {
			return errs.New(errs.Invalid, "tapeconfig.Set", name, "there is no such value; there are "+keyList(fields))
		}
		if err := setField(field, values[name]); err != nil {
			return errs.As(err, errs.Invalid, "tapeconfig.Set", name)
		}
	}
	return nil
}

// setField reads a value by the type of its field.
func setField(field reflect.Value, text string) (err error) {
	var n int64
	switch field.Interface().(type) {
	case string, tapeapi.PoolName:
		field.SetString(text)
		return nil
	case bool:
		var on bool
		if on, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is not true or false", text)
		}
		field.SetBool(on)
		return nil
	// Numbers with units of their own.
	case Bytes:
		n, err = parseBytes(text)
	case Seconds:
		n, err = parseSeconds(text)
	default:
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			err = fmt.Errorf("%q is not a whole number", text)
		}
	}
	if err == nil {
		field.SetInt(n)
	}
	return err
}

// parseBytes reads a size: 1000000, 500M, 100G, 1.5T (powers of 1000), 4GiB (powers of 1024).
func parseBytes(text string) (int64, error) {
	const letters = "kMGTPE"
	number, unit := strings.TrimSuffix(text, "B"), 1000.0
	if rest, is := strings.CutSuffix(number, "i"); is {
		number, unit = rest, 1024
	}
	factor := 1.0
	if number != "" {
		if i := strings.IndexByte(letters, number[len(number)-1]); i >= 0 {
			number, factor = number[:len(number)-1], math.Pow(unit, float64(i+1))
		}
	}
	// Whole numbers are exact; a float64 has 53 bits.
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && factor == 1 {
		return n, nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f*factor) >= 1<<62 {
		return 0, fmt.Errorf("%q is not a size, such as 500M, 100G or 1.5T", text)
	}
	return int64(f * factor), nil
}

// parseSeconds reads an age: seconds, or 90s, 15m, 2h.
func parseSeconds(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	// Parts of a second are cut: ages are judged every few seconds.
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time, such as 90s, 15m or 2h", text)
	}
	return int64(d / time.Second), nil
}
