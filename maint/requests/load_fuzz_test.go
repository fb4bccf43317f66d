package requests

import (
	"testing"

	"hemera/words/errs"
)

// FuzzLoad: a record is taken under its own key, or Corrupt.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"ID": 1}`))
	f.Add([]byte(`{"Dir": 1}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		s := empty()
		for _, key := range []string{conversionKey(1), treeKey(1)} {
			if err := s.load(key, value); err != nil && errs.KindOf(err) != errs.Corrupt {
				t.Error(err)
			}
		}
		if len(s.conversions) > 1 || len(s.trees) > 1 {
			t.Error("one record is several")
		}
	})
}
