package layout

import (
	"testing"

	"hemera/words/hemera"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// striped returns a layout of k columns and m parity pieces.
func striped(k, m uint8, block uint32) hemera.Layout {
	l := hemera.Layout{Kind: hemera.LayoutRS, Data: k, Pieces: k + m, BlockSize: block}
	if m == 0 {
		l.Kind = hemera.LayoutStripe
	}
	return l
}

func TestPieceSize(t *testing.T) {
	for _, c := range []struct {
		name  string
		l     hemera.Layout
		size  int64
		sizes []int64 // of each piece
	}{
		{"empty", hemera.Plain(), 0, []int64{0}},
		{"plain", hemera.Plain(), 12345, []int64{12345}},
		{"replicas are copies", hemera.Replica(3), 12345, []int64{12345, 12345, 12345}},
		{"without a layout", hemera.Layout{}, 5, []int64{5}},
		{"nothing to stripe", striped(2, 1, 4*kib), 0, []int64{0, 0, 0}},
		{"one byte", striped(4, 2, mib), 1, []int64{1, 0, 0, 0, 1, 1}},
		{"a part of the first block", striped(4, 2, mib), 1000, []int64{1000, 0, 0, 0, 1000, 1000}},
		{"the first block", striped(4, 2, mib), mib, []int64{mib, 0, 0, 0, mib, mib}},
		{"a byte of the second block", striped(4, 2, mib), mib + 1, []int64{mib, 1, 0, 0, mib, mib}},
		{"one row", striped(4, 2, mib), 4 * mib, []int64{mib, mib, mib, mib, mib, mib}},
		{"a byte of the second row", striped(4, 2, mib), 4*mib + 1, []int64{mib + 1, mib, mib, mib, mib + 1, mib + 1}},
		{"the last block is short", striped(4, 2, mib), 7*mib + 5, []int64{2 * mib, 2 * mib, 2 * mib, mib + 5, 2 * mib, 2 * mib}},
		{"blocks of pages", striped(3, 2, 4096), 10000, []int64{4096, 4096, 1808, 4096, 4096}},
		{"a row and a piece of a block", striped(3, 2, 4096), 3*4096 + 7, []int64{4103, 4096, 4096, 4103, 4103}},
		{"no block size counts as pages", striped(3, 1, 0), 10000, []int64{4096, 4096, 1808, 4096}},
	} {
		var sum int64
		var pieces []hemera.Piece
		for i, want := range c.sizes {
			if got := PieceSize(c.l, c.size, uint8(i)); got != want {
				t.Errorf("%s: piece %d has %d bytes, want %d", c.name, i, got, want)
			}
			sum += want
			pieces = append(pieces, hemera.Piece{Index: uint8(i)})
		}
		if got := Used(c.l, c.size, pieces); got != sum {
			t.Errorf("%s: the pieces use %d bytes, want %d", c.name, got, sum)
		}
		if got := Physical(c.l, c.size); c.l.Pieces > 0 && got != sum {
			t.Errorf("%s: all pieces have %d bytes, want %d", c.name, got, sum)
		}
		if got := PieceMax(c.l, c.size); got != c.sizes[0] {
			t.Errorf("%s: the largest piece has %d bytes, want %d", c.name, got, c.sizes[0])
		}
	}
}

func TestUsedCountsThePiecesThatExist(t *testing.T) {
	pieces := []hemera.Piece{{Index: 1}, {Index: 5}}
	if got := Used(striped(4, 2, mib), mib+1, pieces); got != 1+mib {
		t.Errorf("a data piece of 1 byte and a parity piece of 1 MiB use %d bytes", got)
	}
	if got := Used(hemera.Replica(3), 7, pieces); got != 14 {
		t.Errorf("two copies of 7 bytes use %d", got)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name string
		l    hemera.Layout
		off  int64
		n    int
		want []Span
	}{
		{"nothing", striped(2, 1, 4096), 100, 0, nil},
		{"a replica is one column", hemera.Replica(2), 100, 3 * mib, []Span{{0, 100, 0, 3 * mib}}},
		{"in a block", striped(2, 1, 4096), 5000, 100, []Span{{1, 904, 0, 100}}},
		{"over two blocks", striped(2, 1, 4096), 4000, 200, []Span{{0, 4000, 0, 96}, {1, 0, 96, 104}}},
		{"over two rows", striped(2, 1, 4096), 8000, 300, []Span{{1, 3904, 0, 192}, {0, 4096, 192, 108}}},
		{"whole rows", striped(2, 1, 4096), 8192, 12288, []Span{{0, 4096, 0, 4096}, {1, 4096, 4096, 4096}, {0, 8192, 8192, 4096}}},
	} {
		got := Split(c.l, c.off, c.n)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

func TestColumn(t *testing.T) {
	for _, c := range []struct {
		l      hemera.Layout
		index  uint8
		column uint8
		ok     bool
	}{
		{hemera.Plain(), 0, 0, true}, {hemera.Replica(3), 2, 0, true}, {hemera.Layout{}, 0, 0, true},
		{striped(4, 2, mib), 0, 0, true}, {striped(4, 2, mib), 3, 3, true}, {striped(4, 2, mib), 4, 0, false}, {striped(4, 2, mib), 5, 0, false},
	} {
		if column, ok := Column(c.l, c.index); column != c.column || ok != c.ok {
			t.Errorf("piece %d of %+v: column %d, %v, want %d, %v", c.index, c.l, column, ok, c.column, c.ok)
		}
	}
}

func TestMinimum(t *testing.T) {
	for _, c := range []struct {
		l        hemera.Layout
		policy   uint8
		eligible int
		min      uint8
	}{
		{hemera.Replica(2), 0, 1, 1}, {hemera.Replica(2), 0, 2, 1}, {hemera.Replica(2), 0, 3, 2}, {hemera.Replica(3), 0, 3, 2},
		{hemera.Replica(3), 0, 9, 3}, {hemera.Plain(), 0, 1, 1}, {hemera.Plain(), 0, 0, 1},
		{hemera.Replica(2), 1, 9, 1}, {hemera.Replica(2), 2, 1, 2}, {hemera.Replica(2), 3, 9, 2},
		{striped(4, 2, mib), 0, 9, 6}, {striped(4, 2, mib), 0, 7, 6}, {striped(4, 2, mib), 0, 6, 5}, {striped(4, 2, mib), 0, 5, 4},
		{striped(4, 2, mib), 0, 4, 4}, // no piece can be lost
		{striped(4, 2, mib), 1, 9, 4}, {striped(4, 2, mib), 5, 6, 5}, {striped(4, 2, mib), 9, 9, 6},
		{hemera.Local(4, 2, 1), 0, 9, 7}, {hemera.Local(4, 2, 1), 4, 9, 5}, // 4 pieces may be too few of a group
	} {
		if got := Minimum(c.l, c.policy, c.eligible); got != c.min {
			t.Errorf("%+v, policy %d, %d disks: %d, want %d", c.l, c.policy, c.eligible, got, c.min)
		}
	}
}

func TestCountsOfPieces(t *testing.T) {
	coded := striped(4, 2, mib)
	for _, c := range []struct {
		l        hemera.Layout
		size     int64
		minimum  uint8
		count    int
		needed   int
		required int
	}{
		{hemera.Layout{}, 1, 0, 0, 1, 1}, {hemera.Plain(), 5, 0, 1, 1, 1}, {hemera.Replica(2), 5, 0, 2, 1, 1}, {hemera.Replica(2), 5, 2, 2, 1, 2},
		{hemera.Replica(2), 0, 2, 0, 0, 0}, {coded, 0, 6, 0, 0, 0},
		{coded, 1, 6, 3, 1, 3}, {coded, 1, 5, 3, 1, 2}, {coded, 1, 0, 3, 1, 1},
		{coded, mib, 5, 3, 1, 2}, {coded, mib + 1, 5, 4, 2, 3}, {coded, 3*mib + 1, 5, 6, 4, 5}, {coded, 9 * mib, 0, 6, 4, 4},
		{striped(4, 0, mib), 2 * mib, 4, 2, 2, 2},
	} {
		if got := Count(c.l, c.size); got != c.count {
			t.Errorf("%+v, %d bytes: %d pieces, want %d", c.l, c.size, got, c.count)
		}
		if got := Needed(c.l, c.size); got != c.needed {
			t.Errorf("%+v, %d bytes: %d pieces are needed, want %d", c.l, c.size, got, c.needed)
		}
		if got := Required(c.l, c.size, c.minimum); got != c.required {
			t.Errorf("%+v, %d bytes, minimum %d: %d pieces are required, want %d", c.l, c.size, c.minimum, got, c.required)
		}
		stored := 0
		for i := range c.l.Pieces {
			if Stored(c.l, c.size, i) {
				stored++
			}
		}
		if stored != c.count || len(Missing(c.l, c.size, nil)) != c.count {
			t.Errorf("%+v, %d bytes: %d pieces are stored, want %d", c.l, c.size, stored, c.count)
		}
	}
}

func TestSizeWithin(t *testing.T) {
	for _, c := range []struct {
		l        hemera.Layout
		physical int64
		size     int64
	}{
		{hemera.Plain(), 100, 100}, {hemera.Replica(2), 100, 50}, {hemera.Replica(2), 101, 50}, {hemera.Replica(2), 0, 0}, {hemera.Replica(2), -5, 0},
		{striped(4, 2, mib), 2, 0}, {striped(4, 2, mib), 3, 1}, {striped(4, 2, mib), 3 * mib, mib}, {striped(4, 2, mib), 4 * mib, 2 * mib}, {striped(4, 2, mib), 600 * mib, 400 * mib},
		{striped(4, 2, mib), 600*mib + 2, 400 * mib}, {striped(4, 0, mib), 77, 77}, {hemera.Plain(), 1 << 62, hemera.FileSizeMax}, {striped(4, 2, mib), 1 << 62, hemera.FileSizeMax},
	} {
		if got := SizeWithin(c.l, c.physical); got != c.size {
			t.Errorf("%s, %d bytes on disks: a file of %d, want %d", c.l, c.physical, got, c.size)
		}
	}
}

// FuzzSizeWithin checks the definition: the size fits, and one byte more does not.
func FuzzSizeWithin(f *testing.F) {
	f.Add(uint8(4), uint8(2), int64(1000000))
	f.Add(uint8(1), uint8(1), int64(7))
	f.Fuzz(func(t *testing.T, k, m uint8, physical int64) {
		l := striped(k%16+2, m%8, 64*kib)
		if k%16 == 15 {
			l = hemera.Local(12, 2, 2).WithBlockSize(64 * kib)
		}
		physical &= 1<<40 - 1
		size := SizeWithin(l, physical)
		if Physical(l, size) > physical || Physical(l, size+1) <= physical {
			t.Fatalf("%s, %d bytes on disks: a file of %d takes %d, the next %d", l, physical, size, Physical(l, size), Physical(l, size+1))
		}
	})
}

func TestMissing(t *testing.T) {
	got := Missing(striped(4, 2, mib), mib+1, []hemera.Piece{{Index: 5}, {Index: 0}, {Index: 0}})
	if len(got) != 2 || got[0] != 1 || got[1] != 4 {
		t.Errorf("of two data and two parity pieces, 0 and 5 are there: %v are missing", got)
	}
}

func TestReadable(t *testing.T) {
	local := hemera.Local(4, 2, 1) // groups {0 1 4} and {2 3 5}, global 6
	for _, c := range []struct {
		l    hemera.Layout
		size int64
		have []int
		want bool
	}{
		{hemera.Replica(2), 0, nil, true}, {hemera.Replica(2), 1, nil, false}, {hemera.Replica(2), 1, []int{1}, true}, {hemera.Plain(), 1, []int{3}, false},
		{striped(4, 2, mib), 9 * mib, []int{0, 1, 4}, false}, {striped(4, 2, mib), 9 * mib, []int{0, 1, 4, 5}, true},
		{striped(4, 2, mib), 9, []int{4}, true}, {striped(4, 2, mib), 9, []int{0}, true}, {striped(4, 2, mib), 9, nil, false}, {striped(4, 2, mib), 9, []int{1, 2, 3}, false},
		{striped(4, 0, mib), 9 * mib, []int{0, 1, 3}, false}, {striped(4, 0, mib), 9 * mib, []int{0, 1, 2, 3}, true}, {striped(4, 0, mib), 9, []int{0}, true},
		{local, 9 * mib, []int{0, 1, 4, 2}, false},                  // the second group has lost two pieces, and the first has one to spare
		{local, 9 * mib, []int{0, 1, 2, 3}, true},                   // all data
		{local, 9 * mib, []int{0, 4, 2, 6}, true},                   // 1 from its group, then 3 from the global parity
		{local, 9 * mib, []int{0, 1, 4, 6}, false},                  // as many as data pieces, but not enough
		{local, 9 * mib, []int{1, 4, 5, 2, 6}, true},                // each piece from its group
		{local, 2 * mib, []int{6, 4}, true},                         // 0 and 1 have bytes: two parities with different coefficients
		{local, mib, []int{6}, true}, {local, mib, []int{5}, false}, // a parity of the other group does not help
	} {
		var have Set
		for _, i := range c.have {
			have = have.With(i)
		}
		want := c.want
		if got := Readable(c.l, c.size, have); got != want {
			t.Errorf("%s, %d bytes, pieces %v: readable is %v, want %v", c.l, c.size, c.have, got, want)
		}
	}
}

// dealt is the slow twin: it deals each byte of the file separately, block after block, to the columns in turn.
type dealt struct {
	columns [][]int64 // of each byte of a column, its offset in the file
}

func deal(l hemera.Layout, size int64) dealt {
	k := max(int(l.Data), 1)
	d := dealt{columns: make([][]int64, k)}
	column, inBlock := 0, uint32(0)
	for off := range size {
		if k > 1 && inBlock == l.BlockSize {
			column, inBlock = (column+1)%k, 0
		}
		d.columns[column] = append(d.columns[column], off)
		inBlock++
	}
	return d
}

// FuzzGeometry compares sizes and spans with those of the slow twin.
func FuzzGeometry(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint8(0), uint16(5000), uint16(100), uint16(3000))
	f.Add(uint8(2), uint8(1), uint8(0), uint16(5000), uint16(4000), uint16(2000))
	f.Add(uint8(3), uint8(2), uint8(1), uint16(40000), uint16(8191), uint16(30000))
	f.Add(uint8(4), uint8(2), uint8(0), uint16(4096*4), uint16(4096), uint16(4096))
	f.Add(uint8(16), uint8(4), uint8(3), uint16(65535), uint16(1), uint16(65534))
	f.Fuzz(func(t *testing.T, k, m, pages uint8, size, off, n uint16) {
		k, m = k%16+1, m%8
		l := striped(k, m, (uint32(pages%4)+1)*hemera.PageSize)
		if k == 1 {
			l = hemera.Layout{Kind: hemera.LayoutReplica, Data: 1, Pieces: 1 + m}
		}
		twin := deal(l, int64(size))
		longest := 0
		for _, c := range twin.columns {
			longest = max(longest, len(c))
		}
		var sum int64
		for i := range l.Pieces {
			want := longest
			if c, ok := Column(l, i); ok {
				want = len(twin.columns[c])
			}
			if got := PieceSize(l, int64(size), i); got != int64(want) {
				t.Fatalf("%+v, %d bytes: piece %d has %d, want %d", l, size, i, got, want)
			}
			sum += int64(want)
		}
		if got := Physical(l, int64(size)); got != sum {
			t.Fatalf("%+v, %d bytes: %d on disks, want %d", l, size, got, sum)
		}
		n = min(n, size)
		off = min(off, size-n)
		at := 0
		for _, s := range Split(l, int64(off), int(n)) {
			if s.At != at || s.Len <= 0 {
				t.Fatalf("%+v, %d+%d: span %+v does not follow %d", l, off, n, s, at)
			}
			for i := range s.Len {
				want := int64(off) + int64(at+i)
				if got := twin.columns[s.Column][s.Off+int64(i)]; got != want {
					t.Fatalf("%+v, %d+%d: byte %d of span %+v is byte %d of the file, want %d", l, off, n, i, s, got, want)
				}
				if got := fileOffset(l, s.Column, s.Off+int64(i)); got != want {
					t.Fatalf("%+v: byte %d of column %d is byte %d of the file, want %d", l, s.Off+int64(i), s.Column, got, want)
				}
			}
			at += s.Len
		}
		if at != int(n) {
			t.Fatalf("%+v, %d+%d: the spans have %d bytes", l, off, n, at)
		}
	})
}

// TestEmptyAndStoredPieces: each piece of a coded file is either empty or stored; other files have no empty pieces.
func TestEmptyAndStoredPieces(t *testing.T) {
	for _, text := range []string{"rs:4+2", "lrc:12+2+2", "stripe:4", "replica:3", "plain"} {
		l, err := hemera.ParseLayout(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		l.BlockSize = 1 << 20
		for _, size := range []int64{0, 1, 1 << 20, 1<<20 + 1, 3 << 20, 100 << 20} {
			empty := Empty(l, size)
			want := 0
			if l.Coded() && size > 0 {
				want = int(l.Pieces) - Count(l, size)
			}
			if len(empty) != want {
				t.Errorf("%s of %d bytes: %v, want %d", text, size, empty, want)
			}
		}
	}
}

// fileOffset returns the offset in the file of the byte at off of a column. It is the inverse of [Split].
func fileOffset(l hemera.Layout, column uint8, off int64) int64 {
	if l.Data <= 1 {
		return off
	}
	block := blockSize(l)
	return (off/block*int64(l.Data)+int64(column))*block + off%block
}
