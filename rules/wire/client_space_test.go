package wire

import "testing"

func TestSpaceInfoRoundTrip(t *testing.T) {
	want := SpaceInfo{1, 2, 3, 4, 5, 6}
	if got, err := ParseSpaceInfo(want.Append(nil)); err != nil || got != want {
		t.Errorf("%+v comes back as %+v, %v", want, got, err)
	}
	for _, bad := range []string{"", "1 2 3 4 5", "1 2 3 4 5 x"} {
		if got, err := ParseSpaceInfo([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}
