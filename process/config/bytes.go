package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size: "512", "64KiB", "4GiB", "10TB". Units with an i are powers of 1024, those without powers of 1000. "4G"
// is refused, since people use it for both.
type Bytes int64

// units has the units of sizes; each is a power of 1000 or of 1024. Longer names come first if one ends with another: B
// is the last. kB is the SI spelling and KB the usual one; String uses kB.
var units = []struct {
	name string
	size int64
}{
	{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// ParseBytes reads a size. A fraction ("1.5GiB") must give a whole number of bytes. A number without a unit is in bytes.
// Signs, exponents and more than nine digits after the point are refused.
func ParseBytes(text string) (Bytes, error) {
	number, unit := strings.Trim(text, " "), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimRight(rest, " "), u.size
			break
		}
	}
	whole, fraction, _ := strings.Cut(number, ".")
	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || number == "" || strings.HasSuffix(number, ".") || len(fraction) > 9 {
		return 0, fmt.Errorf("%q is not a size; write it like 512MiB, 4GiB or 10TB", text)
	}
	if n > uint64(math.MaxInt64/unit) {
		return 0, fmt.Errorf("%q is more than %d bytes", text, int64(math.MaxInt64))
	}
	size := int64(n) * unit
	if fraction != "" {
		part, whole, err := fractionOf(fraction, unit)
		if err != nil || !whole || size > math.MaxInt64-part {
			return 0, fmt.Errorf("%q is not a whole number of bytes", text)
		}
		size += part
	}
	return Bytes(size), nil
}

// fractionOf returns 0.digits of the unit, and whether that is a whole number. With at most nine digits the products stay
// below 63 bits, because the unit is divided before it is multiplied.
func fractionOf(digits string, unit int64) (int64, bool, error) {
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, false, err
	}
	scale := int64(math.Pow10(len(digits)))
	high, low := unit/scale*int64(n), unit%scale*int64(n)
	return high + low/scale, low%scale == 0, nil
}

// String returns the size in the largest unit that gives a whole number. ParseBytes reads it as the same size.
func (b Bytes) String() string {
	for _, u := range units {
		if b != 0 && int64(b)%u.size == 0 && u.name != "KB" {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return "0B"
}

// UnmarshalText implements encoding.TextUnmarshaler.
// After an error the size is 0.
func (b *Bytes) UnmarshalText(text []byte) error {
	v, err := ParseBytes(string(text))
	*b = v
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
