package wire

import (
	"reflect"
	"testing"

	"hemera/words/hemera"
)

func TestSealInfoRoundTrip(t *testing.T) {
	sum, _ := hemera.MakeChecksum(hemera.Adler32, []byte{0, 1, 2, 3})
	for _, s := range []hemera.SealInfo{{}, {FileSize: 12, Sync: true, Checksums: []hemera.Checksum{sum}}, {FileSize: 1, Kept: true}} {
		got, err := ParseSealInfo(EncodeSealInfo(s))
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%v: got %v, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "hem.seal", "hem.seal&size=-1&sync=true", "hem.seal&size=1&sync=x", "hem.seal&size=1&sync=true&kept=x", "hem.seal&size=1&sync=true&sums=adler32:00"} {
		if _, err := ParseSealInfo(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

func TestPieceOpenRoundTrip(t *testing.T) {
	for text, want := range map[string]hemera.PieceOpen{"0": {}, "5": {Index: 5}, "128": {Base: true}, "133": {Index: 5, Base: true}} {
		got, err := ParsePieceOpen(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if got := EncodePieceOpen(want); got != text {
			t.Errorf("%+v: %s, want %s", want, got, text)
		}
	}
	for _, bad := range []string{"", "-1", "256", "x"} {
		if _, err := ParsePieceOpen(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

func TestClone(t *testing.T) {
	for _, size := range []int64{0, 1, hemera.FileSizeMax} {
		if got, err := ParseClone(EncodeClone(size)); err != nil || got != size {
			t.Errorf("%d comes back as %d, %v", size, got, err)
		}
	}
	for _, bad := range []string{"", "hem.clone", "hem.clone&size=", "hem.clone&size=-1", "hem.clone&size=9223372036854775807", "hem.clone&size=1&x=2"} {
		if n, err := ParseClone(bad); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}
