package daemon

import "testing"

func TestDealUsesAllAndNoMore(t *testing.T) {
	for _, total := range []int64{0, 1 << 20, 8 << 20, 256 << 20, 1 << 30, 6 << 30, 500 << 30} {
		s := deal(total)
		if sum := s.records + s.blocks + 2*s.table; total >= 8<<20 && sum != total || s.records > recordsMost || s.records < 0 || s.blocks < 0 {
			t.Errorf("%d: %+v", total, s)
		}
		if limit := MemoryLimit(total); limit < total || total <= 256<<20 && limit > 2<<30 {
			t.Errorf("%d: limit %d", total, limit)
		}
	}
}
