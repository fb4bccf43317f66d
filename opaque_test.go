package hemera

import (
	"reflect"
	"testing"
)

func TestSealInfoRoundTrip(t *testing.T) {
	sum, _ := MakeChecksum(Adler32, []byte{0, 1, 2, 3})
	for _, s := range []SealInfo{{}, {FileSize: 12, Sync: true, Checksums: []Checksum{sum}}} {
		got, err := ParseSealInfo(s.Encode())
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%v: got %v, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "hem.seal", "hem.seal&size=-1&sync=true", "hem.seal&size=1&sync=x", "hem.seal&size=1&sync=true&sums=adler32:00"} {
		if _, err := ParseSealInfo(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

func TestPieceOpenRoundTrip(t *testing.T) {
	for text, want := range map[string]PieceOpen{"0": {}, "5": {Index: 5}, "128": {Base: true}, "133": {Index: 5, Base: true}} {
		got, err := ParsePieceOpen(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if got := want.Encode(); got != text {
			t.Errorf("%+v: %s, want %s", want, got, text)
		}
	}
	for _, bad := range []string{"", "-1", "256", "x"} {
		if _, err := ParsePieceOpen(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}
