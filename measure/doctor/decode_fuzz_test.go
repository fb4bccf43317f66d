package doctor_test

import (
	"bytes"
	"os"
	"testing"

	"hemera/measure/doctor"
	"hemera/words/errs"
)

// FuzzDecode: a snapshot is one of a known schema that can be judged, or Invalid.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"vm.json", "arm-server.json"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"schema": 1, "disks": [{}], "links": [{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := doctor.Decode(bytes.NewReader(text), "x")
		if err == nil && (s.Schema < 1 || s.Schema > doctor.Schema) || err != nil && errs.KindOf(err) != errs.Invalid {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
