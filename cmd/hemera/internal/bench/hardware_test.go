package bench

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"hemera/words/errs"
)

func TestNetIsShortWhereTimeShowsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		hosts      []string
		quick      bool
		line       []string
		length     time.Duration
		iterations int
		streams    []int
	}{
		"as published":        {[]string{"a"}, false, nil, time.Minute, 10, []int{1, 8}},
		"loopback":            {nil, false, nil, 5 * time.Second, 5, []int{1, 8}},
		"quick":               {[]string{"a"}, true, nil, time.Second, 2, []int{1, 4}},
		"what was given":      {nil, false, []string{"--for=7s", "--iterations=3"}, 7 * time.Second, 3, []int{1, 8}},
		"also with --quick":   {nil, true, []string{"--streams=16"}, time.Second, 2, []int{16}},
		"without its command": {nil, true, nil, time.Second, 2, []int{1, 4}},
	} {
		l := &netLevel{}
		if name != "without its command" {
			f := pflag.NewFlagSet("", pflag.ContinueOnError)
			l.flags(f)
			if err := f.Parse(c.line); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.check(c.hosts, c.quick); err != nil || l.o.For != c.length || l.o.Iterations != c.iterations || !slices.Equal(l.o.Streams, c.streams) {
			t.Errorf("%s: %v, %d times, %v streams, %v", name, l.o.For, l.o.Iterations, l.o.Streams, err)
		}
	}
}

func TestDiskFlags(t *testing.T) {
	here := t.TempDir()
	for name, c := range map[string]struct {
		quick   bool
		line    []string
		streams []int
		sweep   int
		size    int64
	}{
		"a ramp":     {false, nil, []int{1, 2, 4, 8, 15}, 10, 4 << 30},
		"quick":      {true, nil, []int{1, 4}, 4, 128 << 20},
		"one number": {true, []string{"--streams=8,8", "--size=1GB"}, []int{8}, 4, 1e9},
		"no sweep":   {false, []string{"--read-ahead=false"}, []int{1, 2, 4, 8, 15}, 0, 4 << 30},
	} {
		l := &diskLevel{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		l.flags(f)
		if err := f.Parse(c.line); err != nil {
			t.Fatal(err)
		}
		if err := l.check([]string{here}, c.quick); err != nil || !slices.Equal(l.o.Streams, c.streams) || len(l.o.ReadAheads) != c.sweep || l.o.Size != c.size {
			t.Errorf("%s: %v streams, %d sizes of read-ahead, %d bytes, %v", name, l.o.Streams, len(l.o.ReadAheads), l.o.Size, err)
		}
	}
	if err := (&diskLevel{}).check([]string{filepath.Join(here, "no")}, true); !errors.Is(err, errs.NotFound) {
		t.Errorf("a missing directory: %v", err)
	}
}
