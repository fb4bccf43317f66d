package result_test

import (
	"bytes"
	"testing"

	"hemera/measure/result"
	"hemera/words/errs"
)

// FuzzDecode: a result is one of a known schema, or Invalid.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema": 1, "levels": [{"name": "net", "measures": [{"name": "throughput", "samples": [1, 2]}]}]}`))
	f.Add([]byte(`{"schema": 99}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		run, err := result.Decode(bytes.NewReader(text), "x")
		if err == nil && (run.Schema < 1 || run.Schema > result.Schema) || err != nil && errs.KindOf(err) != errs.Invalid {
			t.Errorf("%+v, %v", run, err)
		}
	})
}
