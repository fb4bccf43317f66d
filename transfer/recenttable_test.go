package transfer

import "testing"

func TestTableKeepsTheLast(t *testing.T) {
	var m recentTable[int, int]
	for i := range recentMax + 100 {
		m.Add(i, i)
		m.Add(i, -i) // again: takes no second place
	}
	for i, want := range map[int]bool{0: false, 99: false, 100: true, recentMax: true, recentMax + 99: true} {
		if got, ok := m.Get(i); ok != want || ok && got != -i {
			t.Errorf("%d: %d, %v", i, got, ok)
		}
	}
	if len(m.known) != recentMax || len(m.order) != recentMax {
		t.Errorf("%d known, %d in order", len(m.known), len(m.order))
	}
}
