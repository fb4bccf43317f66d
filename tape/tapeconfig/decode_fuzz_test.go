package tapeconfig

import "testing"

// FuzzDecode: a stored configuration, or one object of it, may be anything.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Buffers": null, "Mounting": {"default": {"MinFiles": 1}}}`))
	f.Add([]byte(`{"Mounting": {"default": null}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if c, err := Decode(raw); err == nil && c.Buffers == nil {
			t.Error("no buffers")
		}
		for _, text := range []string{string(raw)} {
			if n, err := parseBytes(text); err == nil && n < 0 {
				t.Errorf("%q is %d bytes", text, n)
			}
			if n, err := parseSeconds(text); err == nil && n < 0 {
				t.Errorf("%q is %d s", text, n)
			}
		}
		var m Mounting
		_ = m.UnmarshalJSON(raw)
		_ = table[Mounting, *Mounting]{}.decode("x", raw)
	})
}
