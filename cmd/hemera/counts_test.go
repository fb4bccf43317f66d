package main

import (
	"math"
	"testing"
)

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "10k": 10_000, "9.5M": 9_500_000, "1.5T": 1_500_000_000_000, "0.1k": 100, "8P": 8e15, "1.001k": 1001,
	} {
		if n, ok := parseCount(text, math.MaxInt64); !ok || n != want {
			t.Errorf("%s: %d, %t; want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", "k", "-1", "1.5", "1.0001k", "1K", "1e3", "NaN", "Inf", "0x10", "1_000", "99999999999P", ".", "1.2.3M", "10000P"} {
		if n, ok := parseCount(text, 1<<60); ok {
			t.Errorf("%q is taken for %d", text, n)
		}
	}
}
