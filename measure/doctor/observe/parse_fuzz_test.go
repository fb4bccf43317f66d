package observe

import "testing"

// FuzzParse: kernels and programs may print anything.
func FuzzParse(f *testing.F) {
	f.Add([]byte("Adaptive RX: on  TX: off\nrx-usecs: 8\nrx-frames: n/a\n"))
	f.Add([]byte(`{"smart_status": {"passed": true}, "temperature": {"current": 30}}`))
	f.Add([]byte("flags\t: sse4_2 avx2\n"))
	f.Add(make([]byte, 200))
	f.Fuzz(func(_ *testing.T, b []byte) {
		parseCoalesce(string(b))
		parseSmart(b)
		parseFlags(string(b))
		parseExtents(b)
	})
}
