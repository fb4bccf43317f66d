package wire

import (
	"bytes"
	"testing"

	"hemera/words/hemera"
)

// slowPages does the same as the page helpers: it processes byte by byte.
func slowPages(p []byte, off int64) (wire []byte, fragments int) {
	for start := 0; start < len(p); {
		end := start + 1
		for end < len(p) && (off+int64(end))%hemera.PageSize != 0 {
			end++
		}
		wire = be.AppendUint32(wire, crcSlow(p[start:end]))
		wire = append(wire, p[start:end]...)
		start = end
		fragments++
	}
	return wire, fragments
}

func TestPageHelpers(t *testing.T) {
	data := make([]byte, 4*hemera.PageSize)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, off := range []int64{0, 1, 100, 4095, 4096, 5000} {
		for _, n := range []int{0, 1, 4, 95, 96, 97, 4000, 4095, 4096, 4097, 8192, 12000} {
			p := data[:n]
			want, count := slowPages(p, off)
			if got := Fragments(off, int64(n)); got != count {
				t.Fatalf("Fragments(%d, %d) = %d, want %d", off, n, got, count)
			}
			if got := PagesLen(off, int64(n)); got != int64(len(want)) {
				t.Fatalf("PagesLen(%d, %d) = %d, want %d", off, n, got, len(want))
			}
			if got, err := PagesDataLen(off, int64(len(want))); err != nil || got != int64(n) {
				t.Fatalf("PagesDataLen(%d, %d) = %d, %v, want %d", off, len(want), got, err, n)
			}
			sums := SumPages(make([]uint32, count), p, off)
			got := AppendPages(nil, p, sums, off)
			if !bytes.Equal(got, want) {
				t.Fatalf("AppendPages(%d, %d) differs", off, n)
			}
			back, backSums, err := CutPages(got, make([]uint32, count), off)
			if err != nil || !bytes.Equal(back, p) || len(backSums) != count {
				t.Fatalf("CutPages(%d, %d): %d bytes, %d sums, %v", off, n, len(back), len(backSums), err)
			}
			for i := range sums {
				if sums[i] != backSums[i] {
					t.Fatalf("CutPages(%d, %d): sum %d", off, n, i)
				}
			}
		}
	}
	for _, n := range []int64{1, 4, 4100 + 1, 4100 + 4} {
		if _, err := PagesDataLen(0, n); err == nil {
			t.Errorf("PagesDataLen accepted %d bytes", n)
		}
	}
}

func TestSegments(t *testing.T) {
	one := Segment{Handle{1}, 5, 6}.Append(nil)
	if n, err := CheckSegments(one); n != 1 || err != nil {
		t.Errorf("one: %d, %v", n, err)
	}
	if s := ParseSegment(one); s != (Segment{Handle{1}, 5, 6}) {
		t.Errorf("parsed %+v", s)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "short": one[:15], "odd": append(bytes.Clone(one), 1),
		"too many": bytes.Repeat(one, VectorMax+1), "negative length": Segment{Handle{}, -1, 0}.Append(nil),
		"negative offset": Segment{Handle{}, 1, -1}.Append(nil),
	} {
		if _, err := CheckSegments(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := ReadArgs(make([]byte, 9)); err == nil {
		t.Error("9 bytes of read arguments were accepted")
	}
	if p, err := ReadArgs(append(AppendReadArgs(nil, 3), make([]byte, 32)...)); p != 3 || err != nil {
		t.Errorf("read arguments: %d, %v", p, err)
	}
}
