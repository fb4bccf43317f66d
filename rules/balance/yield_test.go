package balance

import (
	"testing"

	"hemera/words/hemera"
)

func TestYields(t *testing.T) {
	for _, c := range []struct {
		disks, written int
		used           int64 // percent of each
		yields         bool
	}{
		{0, 0, 50, false}, {1, 0, 50, false}, {1, 1, 50, true},
		{4, 0, 50, false}, {4, 1, 50, true}, {4, 4, 89, true}, {4, 4, 90, false},
		{100, 24, 50, false}, {100, 25, 50, true},
	} {
		// Two disks on each volume, as far as there are two.
		var volumes []Volume
		for id := 1; id <= c.disks; id++ {
			if id%2 == 1 {
				volumes = append(volumes, Volume{Capacity: 100, Used: c.used})
			}
			v := &volumes[len(volumes)-1]
			v.Disks = append(v.Disks, hemera.DiskID(id))
		}
		written, disks, yields := Yields(volumes, func(id hemera.DiskID) int {
			if int(id) <= c.written {
				return 3
			}
			return 0
		})
		if written != c.written || disks != c.disks || yields != c.yields {
			t.Errorf("%+v: %d of %d, %t", c, written, disks, yields)
		}
	}
}
