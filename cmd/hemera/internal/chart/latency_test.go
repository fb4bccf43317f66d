package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"hemera/words/hemera"
)

func TestLatencyIsSVGThatNamesWhatItShows(t *testing.T) {
	var panels []Panel
	for i, name := range []string{"mkdir", "create", "exists", "read"} {
		p := Panel{Title: name}
		for j := range i * 3 { // none at all for the first
			at := time.Duration(j) * time.Second
			p.Points = append(p.Points, hemera.BenchmarkPoint{At: at, Width: time.Second, Ops: 1,
				P50: 20 * time.Microsecond, P99: 3 * time.Millisecond, Max: 40 * time.Millisecond})
		}
		panels = append(panels, p)
	}
	for n := range len(panels) + 1 {
		out, err := Latency([]string{"100 threads", "durable"}, panels[:n])
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(strings.NewReader(string(out))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%d panels: %v", n, err)
			}
		}
		want := []string{"100 threads", "durable", "p50", "max"}
		for _, p := range panels[:n] {
			want = append(want, p.Title)
		}
		if n == len(panels) {
			want = append(want, "10 µs", "100 µs", "1 ms", "100 ms", "time since the phase began (s)")
		}
		for _, text := range want {
			if !strings.Contains(string(out), ">"+text+"<") {
				t.Errorf("%d panels: %q is not in it", n, text)
			}
		}
	}
}

func TestDecadesHaveTheirUnit(t *testing.T) {
	var got []string
	for e := -9; e <= 2; e++ {
		got = append(got, decade(e))
	}
	want := "[1 ns 10 ns 100 ns 1 µs 10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s 100 s]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, not %s", got, want)
	}
}
