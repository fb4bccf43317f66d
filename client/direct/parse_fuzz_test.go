package direct

import "testing"

// FuzzParse checks that a permit has the pieces of its layout, whatever token the server sends.
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
