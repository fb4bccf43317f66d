package cluster

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hemera/errs"
)

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

func unknownKey(of, key string) *errs.Error {
	return errs.New(errs.Invalid, "cluster.Set", key, "no such key; known are "+strings.Join(settings(of), ", "))
}

func invalid(of, key, value string) *errs.Error {
	for _, s := range Settings() {
		if s.Of == of && s.Key == key {
			return errs.New(errs.Invalid, "cluster.Set", key, fmt.Sprintf("%q is not one of %s", value, s.Values))
		}
	}
	return unknownKey(of, key)
}

func noSuchSpace(op, name string) *errs.Error {
	return errs.New(errs.NotFound, op, "space "+name, "no such space").
		WithRemedy("see `hemera space ls`, or make it with `hemera space set " + name + " define=24`")
}

func onOff(of, key, value string) (bool, error) {
	switch value {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, invalid(of, key, value)
}

func number(of, key, value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return 0, invalid(of, key, value)
	}
	return n, nil
}

func zoneValue(of, value string) (string, error) {
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
	if err != nil || n < 0 || unit == 0 || n > math.MaxInt64/unit {
		return 0, invalid("space", key, value)
	}
	return n * unit, nil
}
