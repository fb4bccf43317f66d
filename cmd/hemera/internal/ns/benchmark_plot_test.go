package ns

import (
	"fmt"
	"math"
	"testing"
	"time"

	"hemera/words/adminapi"
)

func TestDecadesHaveTheirUnit(t *testing.T) {
	var got []string
	for e := -9; e <= 2; e++ {
		got = append(got, decade(math.Pow10(e)))
	}
	want := "[1 ns 10 ns 100 ns 1 µs 10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s 100 s]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, not %s", got, want)
	}
}

func TestPointsStandInTheMiddleOfTheirInterval(t *testing.T) {
	p := latencyPanel("create", []adminapi.BenchmarkPoint{{At: time.Second, Width: 2 * time.Second, P50: time.Millisecond, P99: 2 * time.Millisecond, Max: time.Second}})
	if fmt.Sprint(p.Curves) != "[{p50 [{2 0.001}]} {p99 [{2 0.002}]} {max [{2 1}]}]" {
		t.Error(p.Curves)
	}
}
