package recent

import "testing"

func TestTableKeepsTheLast(t *testing.T) {
	var m Table[int, int]
	for i := range Max + 100 {
		m.Add(i, i)
		m.Add(i, -i) // again: takes no second place
	}
	for i, want := range map[int]bool{0: false, 99: false, 100: true, Max: true, Max + 99: true} {
		if got, ok := m.Get(i); ok != want || ok && got != -i {
			t.Errorf("%d: %d, %v", i, got, ok)
		}
	}
	if len(m.known) != Max || len(m.order) != Max {
		t.Errorf("%d known, %d in order", len(m.known), len(m.order))
	}
}
