package direct

import "testing"

// FuzzParse: a server may answer any token; a permit has pieces of its layout.
func FuzzParse(f *testing.F) {
	f.Add("token", int64(1))
	f.Fuzz(func(t *testing.T, token string, size int64) {
		if p, err := parse(token, size); err == nil && p == nil {
			t.Error("no permit")
		}
		if p, err := parseWrite(token); err == nil && p == nil {
			t.Error("no permit")
		}
	})
}
