package cluster

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hemera/words/errs"
)

// validName reports whether s may name a space or be part of a zone: 1 to 64 letters, digits, dots, dashes and
// underscores.
func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", r) {
			return false
		}
	}
	return true
}

// settings are all keys of one noun, for error texts.
func settings(of string) (keys []string) {
	for _, s := range Settings() {
		if s.Of == of {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// unknownKey refuses a key of a noun (fs, node, space) and lists those that there are.
func unknownKey(of, key string) *errs.Error {
	return errs.New(errs.Invalid, "cluster.Set", key, "no such key; known are "+strings.Join(settings(of), ", "))
}

// invalid refuses a value and says which ones the key takes.
func invalid(of, key, value string) *errs.Error {
	for _, s := range Settings() {
		if s.Of == of && s.Key == key {
			e := errs.New(errs.Invalid, "cluster.Set", key, fmt.Sprintf("%q is not one of %s", value, s.Values))
			if value == "" && strings.HasSuffix(s.Values, "|-") {
				return e.WithRemedy("for none: " + key + "=-")
			}
			return e
		}
	}
	return unknownKey(of, key)
}

// noSuchSpace is the error for a space that does not exist. It names the command that makes one.
func noSuchSpace(op, name string) *errs.Error {
	return errs.New(errs.NotFound, op, "space "+name, "no such space").
		WithRemedy("see `hemera space ls`, or make it with `hemera space set " + name + " define=on`")
}

// onOff reads a switch.
func onOff(of, key, value string) (bool, error) {
	switch value {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, invalid(of, key, value)
}

// number reads a count of 1 to most.
func number(of, key, value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return 0, invalid(of, key, value)
	}
	return n, nil
}

// zoneValue reads a zone, parts with "::" between them from the largest to the smallest. "-" is no zone of its own.
func zoneValue(of, value string) (string, error) {
	// The empty string would be hard to tell from a value that was forgotten.
	if value == "-" {
		return "", nil
	}
	for _, part := range strings.Split(value, "::") {
		if !validName(part) {
			return "", invalid(of, "zone", value)
		}
	}
	return value, nil
}

// size reads bytes with an optional decimal suffix; auto is zero.
func size(key, value string) (int64, error) {
	if value == "auto" {
		return 0, nil
	}
	digits := strings.TrimRight(value, "KMGT")
	unit := map[string]int64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[value[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	// unit is 0 for a suffix of two letters, such as KM, which trimming took off as a whole.
	if err != nil || n < 0 || unit == 0 || n > math.MaxInt64/unit {
		return 0, invalid("space", key, value)
	}
	return n * unit, nil
}
