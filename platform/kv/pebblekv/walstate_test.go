package pebblekv

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestWhichLogsAreKept: a log stays needed while Pebble has it, even if one is begun while the logs are counted.
func TestWhichLogsAreKept(t *testing.T) {
	for _, c := range []struct {
		name   string
		begun  []uint64
		newest int    // logs that Pebble had
		upTo   uint64 // the newest log that it had counted before
		want   []uint64
	}{
		{"all are there", []uint64{4, 7, 9}, 3, 9, []uint64{4, 7, 9}},
		{"one is in tables", []uint64{4, 7, 9}, 2, 9, []uint64{7, 9}},
		{"all but the one in use", []uint64{4, 7, 9}, 1, 9, []uint64{9}},
		{"one is being begun, and is not counted", []uint64{4, 7, 9}, 2, 7, []uint64{4, 7, 9}},
		{"one is being begun, one is in tables", []uint64{4, 7, 9}, 1, 7, []uint64{7, 9}},
		{"one was begun, and is in the count", []uint64{4, 7, 9}, 3, 7, []uint64{4, 7, 9}},
		{"more are there than are needed", []uint64{9}, 2, 9, []uint64{9}},
	} {
		state, err := readLogState(vfs.NewMem(), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := state.adopt(0); err != nil {
			t.Fatal(err)
		}
		for _, number := range c.begun {
			if err := state.add(number, number); err != nil {
				t.Fatal(err)
			}
		}
		if err := state.keep(c.newest, c.upTo); err != nil {
			t.Fatal(err)
		}
		// Compare with the state that the next process reads.
		next, err := readLogState(state.fs, state.dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, n := range next.needed {
			got = append(got, n.number)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v are needed, want %v", c.name, got, c.want)
		}
	}
}
