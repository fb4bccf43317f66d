package timing

import (
	"slices"
	"testing"
	"time"
)

func TestMediaOfBarcode(t *testing.T) {
	for _, test := range []struct{ barcode, name, vid string }{
		{"V01007L9", "LTO-9", "V01007"}, {"V01007l8", "LTO-8", "V01007"}, {"ABC123M8", "LTO-7 M8", "ABC123"}, {"X00001LA", "LTO-10", "X00001"},
		{"A00001L7", "LTO-7", "A00001"}, {"CLNU01L1", "", ""}, {"CLNU01L9", "", ""}, {"V01007", "", ""}, {"L9", "", ""}, {"", "", ""}, {"V01007L6", "", ""},
	} {
		m, vid, ok := MediaOfBarcode(test.barcode)
		if m.Name != test.name || vid != test.vid || ok != (test.name != "") {
			t.Errorf("%q: %q %q %v", test.barcode, m.Name, vid, ok)
		}
	}
}

// TestTable: what must hold of every kind, and the figures that sites know by heart.
func TestTable(t *testing.T) {
	for _, m := range Medias() {
		if d, ok := MediaOfDensity(m.Density); !ok || d.Name != m.Name {
			t.Errorf("%s: density %#x is that of %s", m.Name, m.Density, d.Name)
		}
		if m.Bytes != m.Capacity || m.Speeds[0] != m.Rate || !slices.IsSortedFunc(m.Speeds, func(a, b int64) int { return int(b - a) }) {
			t.Errorf("%s: %+v", m.Name, m)
		}
	}
	if m := media(t, "lto9"); m.Density != 96 || m.Capacity != 18e12 || m.Rate != 400e6 {
		t.Errorf("%+v", m)
	}
	// A wrap of LTO-9 is 64 GB, 161 s at 400 MB/s.
	if m := media(t, "lto9"); m.Capacity/int64(m.Wraps)/m.Rate < 160 || m.Capacity/int64(m.Wraps)/m.Rate > 161 {
		t.Error(m.Capacity / int64(m.Wraps) / m.Rate)
	}
	// The tape winds from end to end in 104 s.
	if m := media(t, "M8"); time.Duration(float64(m.LPOSMax-m.LPOSMin)*costUnit*float64(time.Second)).Round(time.Second) != 104*time.Second {
		t.Error(m)
	}
	if _, ok := MediaOfName("DLT"); ok {
		t.Error("DLT is in the table")
	}
	if m := media(t, "L9").WithCapacity(1 << 30); m.Bytes != 1<<30 || m.Wraps != 280 || media(t, "L9").WithCapacity(0).Capacity != 18e12 {
		t.Error(m)
	}
}
