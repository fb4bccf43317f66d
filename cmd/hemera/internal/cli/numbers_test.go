package cli

import (
	"math"
	"testing"
)

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "10k": 10_000, "9.5M": 9_500_000, "1.5T": 1_500_000_000_000, "0.1k": 100, "8P": 8e15, "1.001k": 1001,
	} {
		if n, ok := ParseCount(text, math.MaxInt64); !ok || n != want {
			t.Errorf("%s: %d, %t; want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", "k", "-1", "1.5", "1.0001k", "1K", "1e3", "NaN", "Inf", "0x10", "1_000", "99999999999P", ".", "1.2.3M", "10000P"} {
		if n, ok := ParseCount(text, 1<<60); ok {
			t.Errorf("%q is taken for %d", text, n)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "10T": 1e13, "1.5k": 1500, "10TB": 1e13, "10TiB": 10 << 40, "1.5GiB": 3 << 29, "7B": 7} {
		if n, ok := ParseSize(text, 1<<60); !ok || n != want {
			t.Errorf("%s: %d, %t; want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", "10Ti", "-1GiB", "1.0001kB", "9000PB", "8000PiB", "TiB"} {
		if n, ok := ParseSize(text, 1<<60); ok {
			t.Errorf("%q is taken for %d", text, n)
		}
	}
}
