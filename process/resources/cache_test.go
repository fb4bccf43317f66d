package resources

import (
	"testing"
)

func TestSplitCacheUsesAllAndNoMore(t *testing.T) {
	for _, total := range []int64{0, 1 << 20, 8 << 20, 256 << 20, 1 << 30, 6 << 30, 500 << 30} {
		s := SplitCache(total)
		if sum := s.Records + s.Blocks + 2*s.Table; total >= 8<<20 && sum != total || s.Records > recordsMax || s.Records < 0 || s.Blocks < 0 {
			t.Errorf("%d: %+v", total, s)
		}
		if limit := MemoryLimit(total); limit < total || total <= 256<<20 && limit > 2<<30 {
			t.Errorf("%d: limit %d", total, limit)
		}
	}
}
