package erasure

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"hemera/words/errs"
)

// small has codes whose every loss is tried.
var small = []twin{{1, 0, 1}, {1, 0, 3}, {2, 0, 1}, {2, 0, 2}, {3, 0, 2}, {4, 0, 2}, {5, 0, 3}, {2, 0, 6}, {1, 1, 1}, {2, 1, 1}, {2, 2, 1},
	{4, 2, 1}, {4, 2, 2}, {5, 2, 2}, {6, 3, 1}, {6, 2, 3}, {4, 1, 2}, {3, 3, 3}}

// large has codes as sites use them, and codes at the limits.
var large = []twin{{8, 0, 3}, {10, 0, 2}, {10, 0, 4}, {12, 0, 4}, {17, 0, 3}, {20, 0, 4}, {31, 0, 1}, {1, 0, 31}, {16, 0, 16},
	{6, 2, 2}, {8, 2, 2}, {10, 2, 2}, {12, 2, 2}, {12, 3, 2}, {14, 2, 2}, {16, 2, 2}, {16, 4, 2}, {20, 4, 2}, {24, 4, 2}, {28, 2, 2}, {29, 2, 1},
	{12, 2, 1}, {10, 2, 3}, {10, 2, 4}, {12, 2, 3}, {16, 4, 4}, {16, 15, 1}, {30, 1, 1}}

func TestField(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			p := times(byte(a), byte(b))
			if p != twinTimes(byte(a), byte(b)) {
				t.Fatalf("%d times %d is %d", a, b, p)
			}
			if b != 0 && over(p, byte(b)) != byte(a) {
				t.Fatalf("%d over %d is not %d", p, b, a)
			}
		}
	}
}

func TestMatrixIsTheTwins(t *testing.T) {
	for _, w := range slices.Concat(small, large) {
		c := w.code(t)
		if c.Data() != w.data || c.Pieces() != w.pieces() {
			t.Fatalf("%s has %d of %d pieces", w, c.Data(), c.Pieces())
		}
		for i, want := range w.matrix() {
			if !bytes.Equal(c.rows[i][:w.data], want) {
				t.Errorf("%s: row %d is %v, want %v", w, i, c.rows[i][:w.data], want)
			}
		}
	}
}

// The coefficients are a stored format.
func TestCoefficientsNeverChange(t *testing.T) {
	for _, test := range []struct {
		code twin
		rows []string
	}{
		{twin{4, 0, 3}, []string{"01010101", "ec6d5038", "73a3d9c6"}},
		{twin{6, 2, 2}, []string{"010101000000", "000000010101", "01984e022d9c", "014e9904255e"}},
	} {
		c := test.code.code(t)
		for i, want := range test.rows {
			if got := hex.EncodeToString(c.rows[test.code.data+i][:test.code.data]); got != want {
				t.Errorf("%s: parity %d has coefficients %s, want %s", test.code, i, got, want)
			}
		}
	}
	all := fnv.New64a()
	for data := 1; data < PiecesMax; data++ {
		for local := range PiecesMax - data {
			for global := 1; data+local+global <= PiecesMax; global++ {
				if local > data {
					continue
				}
				for _, r := range (twin{data, local, global}).code(t).rows {
					all.Write(r[:])
				}
			}
		}
	}
	if got := all.Sum64(); got != 0x923931759fe271cf {
		t.Errorf("the coefficients of all codes have the sum %#x", got)
	}
}

// A parity piece does not depend on the number of pieces.
func TestReedSolomonGrows(t *testing.T) {
	full := twin{16, 0, 16}.code(t)
	for data := 1; data <= 16; data++ {
		for parity := 1; parity <= 16; parity++ {
			c := twin{data, 0, parity}.code(t)
			for i := range parity {
				if !bytes.Equal(c.rows[data+i][:data], full.rows[16+i][:data]) {
					t.Fatalf("parity %d of %d+%d is another one than of 16+16", i, data, parity)
				}
			}
		}
	}
}

func TestCodesThatDoNotExist(t *testing.T) {
	for _, p := range [][2]int{{0, 1}, {1, 0}, {-1, 3}, {3, -1}, {31, 2}, {33, 1}, {1 << 62, 1 << 62}, {1, 1 << 62}} {
		if _, err := ReedSolomon(p[0], p[1]); !errors.Is(err, errs.Invalid) {
			t.Errorf("ReedSolomon(%d, %d): %v", p[0], p[1], err)
		}
	}
	for _, p := range [][3]int{{0, 1, 1}, {2, 0, 1}, {2, 1, 0}, {2, 3, 1}, {28, 3, 2}, {1 << 62, 1, 1}, {2, 1, 1 << 62}, {1 << 62, 1 << 62, 1}, {4, -1, 1}} {
		if _, err := Local(p[0], p[1], p[2]); !errors.Is(err, errs.Invalid) {
			t.Errorf("Local(%d, %d, %d): %v", p[0], p[1], p[2], err)
		}
	}
}

func TestEncodeIsTheTwins(t *testing.T) {
	for _, w := range slices.Concat(small, large) {
		c := w.code(t)
		for _, length := range []int{1, 2, 31, 63, 64, 65, 100, 4096, 4097} {
			blocks, want := w.random(1, length), w.random(1, length)
			if err := c.Encode(blocks); err != nil {
				t.Fatal(err)
			}
			w.encode(want[:])
			for i := range want {
				if !bytes.Equal(blocks[i], want[i]) {
					t.Fatalf("%s: piece %d of blocks of %d bytes differs", w, i, length)
				}
			}
		}
	}
}

// Tiles meet without a gap.
func TestEncodeOfSeveralTiles(t *testing.T) {
	w := twin{12, 2, 2}
	c := w.code(t)
	const length = 2*tileSize + 77
	blocks := w.random(2, length)
	if err := c.Encode(blocks); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{0, tileSize - 50, tileSize, 2*tileSize - 50, length - 100} {
		want := make([][]byte, len(blocks))
		for i := range want {
			want[i] = slices.Clone(blocks[i][from : from+100])
		}
		w.encode(want)
		for i := range want {
			if !bytes.Equal(blocks[i][from:from+100], want[i]) {
				t.Fatalf("piece %d differs behind %d", i, from)
			}
		}
	}
}

func TestReadableIsExact(t *testing.T) {
	for _, w := range small {
		c := w.code(t)
		for have := range Range(0, w.pieces()) + 1 {
			if got, want := c.Readable(have), twinRank(w.rows(have)) == w.data; got != want {
				t.Fatalf("%s from %s: %v", w, have, got)
			}
			if w.local == 0 && c.Readable(have) != (have.Len() >= w.data) {
				t.Fatalf("%s from %s is not as their number says", w, have)
			}
		}
		if c.Readable(^Range(0, w.pieces())) {
			t.Errorf("%s can be read from pieces that it does not have", w)
		}
	}
}

// Every loss of global+1 pieces, of all codes of the tables. With up to two global parities also every loss from which
// any code with the same groups recovers.
func TestLossesThatAreRecovered(t *testing.T) {
	for _, w := range slices.Concat(small, large) {
		c := w.code(t)
		all := Range(0, w.pieces())
		guaranteed := w.global
		if w.local > 0 {
			guaranteed++
		}
		optimal := w.local < 2 || w.global <= 2
		for n := 1; n <= w.local+w.global; n++ {
			if combinations(w.pieces(), n) > 150_000 {
				t.Logf("%s: losses of %d are too many to try", w, n)
				break
			}
			total, recovered, possible := 0, 0, 0
			losses(w.pieces(), n, func(lost Set) {
				total++
				got, want := c.Readable(all&^lost), w.recoverable(lost)
				if got {
					recovered++
				}
				if want {
					possible++
				}
				if n <= guaranteed && !got || got && !want || optimal && got != want {
					t.Fatalf("%s without %s is readable: %v, possible: %v", w, lost, got, want)
				}
			})
			if n > guaranteed {
				t.Logf("%s: %d of %d losses of %d pieces recovered, %.2f %%; possible are %d", w, recovered, total, n,
					100*float64(recovered)/float64(total), possible)
			}
		}
	}
}

// combinations returns the number of sets of n out of total.
func combinations(total, n int) float64 {
	product := 1.0
	for i := range n {
		product *= float64(total-i) / float64(i+1)
	}
	return product
}

// Each piece of small codes from each set of others: the set that Sources returns is enough, and no smaller one is.
func TestSourcesAreTheFewest(t *testing.T) {
	for _, w := range small {
		c := w.code(t)
		cases, more := 0, 0
		all := Range(0, w.pieces())
		ranks := make([]int, all+1)
		for s := range ranks {
			ranks[s] = twinRank(w.rows(Set(s)))
		}
		exact := w.local < 2 || w.global <= 2 // otherwise coefficients sometimes cancel
		sources := func(lost int, from Set) bool { return ranks[from] == ranks[from.With(lost)] }
		for lost := range w.pieces() {
			// fewest[s] is the size of the smallest subset of s that is enough.
			fewest := make([]int, all+1)
			for have := range all + 1 {
				fewest[have] = PiecesMax + 1
				if have.Has(lost) {
					continue
				}
				if sources(lost, have) {
					fewest[have] = have.Len()
				}
				for i := range have.All() {
					fewest[have] = min(fewest[have], fewest[have.Without(i)])
				}
				read, ok := c.Sources(lost, have)
				switch {
				case ok != (fewest[have] <= PiecesMax):
					t.Fatalf("%s: piece %d from %s: %v", w, lost, have, ok)
				case !ok && read != 0:
					t.Fatalf("%s: piece %d from %s reads %s for nothing", w, lost, have, read)
				case ok && (read&^have != 0 || !sources(lost, read) || read.Len() > w.data || exact && read.Len() != fewest[have]):
					t.Fatalf("%s: piece %d from %s reads %s, and %d are enough", w, lost, have, read, fewest[have])
				}
				if ok {
					cases++
				}
				if ok && read.Len() > fewest[have] {
					more++
				}
				if with, _ := c.Sources(lost, have.With(lost)); with != read {
					t.Fatalf("%s: piece %d is read from %s", w, lost, with)
				}
			}
		}
		if more > 0 {
			t.Logf("%s: %d of %d times one piece more than the fewest", w, more, cases)
		}
	}
}

func TestSourcesOfAGroup(t *testing.T) {
	c := twin{12, 2, 2}.code(t)
	all := Range(0, 16)
	for _, test := range []struct {
		lost       int
		have, want Set
	}{
		{3, all, SetOf(0, 1, 2, 4, 5, 12)},
		{9, SetOf(6, 7, 8, 10, 11, 13), SetOf(6, 7, 8, 10, 11, 13)},
		{12, all, Range(0, 6)},
		{14, all, Range(0, 12)},
		{3, all.Without(4), Range(0, 13).Without(3).Without(4).With(14)},
		{3, Range(0, 4), 0},
		{16, all, 0},
		{-1, all, 0},
	} {
		if got, ok := c.Sources(test.lost, test.have); got != test.want || ok != (test.want != 0) {
			t.Errorf("piece %d from %s reads %s, %v; want %s", test.lost, test.have, got, ok, test.want)
		}
	}
}

// Every loss of small codes: all pieces that can be rebuilt have their old content.
func TestRebuildAfterEveryLoss(t *testing.T) {
	for _, w := range small {
		c := w.code(t)
		blocks := w.random(3, 97)
		w.encode(blocks)
		for lost := range Range(0, w.pieces()) + 1 {
			rebuild(t, c, blocks, lost, lost)
			for i := range lost.All() {
				rebuild(t, c, blocks, lost, SetOf(i))
			}
		}
	}
}

// rebuild loses pieces, and rebuilds those wanted if that is possible.
func rebuild(t *testing.T, c *Code, blocks [][]byte, lost, want Set) {
	t.Helper()
	possible := true
	for i := range want.All() {
		_, ok := c.Sources(i, Range(0, c.Pieces())&^lost)
		possible = possible && ok
	}
	got := slices.Clone(blocks)
	for i := range lost.All() {
		got[i] = nil
	}
	err := c.Rebuild(got, want)
	if !possible {
		if !errors.Is(err, errs.NoReplicas) {
			t.Fatalf("%s of lost %s: %v", want, lost, err)
		}
		want = 0
	} else if err != nil {
		t.Fatalf("%s of lost %s: %v", want, lost, err)
	}
	for i := range got {
		switch there := !lost.Has(i) || want.Has(i); {
		case !there && got[i] != nil:
			t.Fatalf("%s of lost %s: %d is there too", want, lost, i)
		case there && !bytes.Equal(got[i], blocks[i]):
			t.Fatalf("%s of lost %s: %d differs", want, lost, i)
		}
	}
}

func TestRebuildOfLargeCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, w := range large {
		c := w.code(t)
		blocks := w.random(4, 300)
		w.encode(blocks)
		for range 200 {
			var lost Set
			for range 1 + r.IntN(w.local+w.global) {
				lost = lost.With(r.IntN(w.pieces()))
			}
			rebuild(t, c, blocks, lost, lost)
		}
	}
}

// A plan reads only the pieces that it names, and uses the memory that it gets.
func TestPlanReadsOnlyItsPieces(t *testing.T) {
	w := twin{12, 2, 2}
	c := w.code(t)
	blocks := w.random(5, tileSize+500)
	if err := c.Encode(blocks); err != nil {
		t.Fatal(err)
	}
	for _, want := range []Set{SetOf(2), SetOf(2, 8), SetOf(1, 2, 15), SetOf(0, 1, 6, 7), SetOf(14, 15)} {
		p, err := c.Plan(want, Range(0, 16))
		if err != nil {
			t.Fatal(err)
		}
		if p.Want() != want || p.Read()&want != 0 {
			t.Fatalf("the plan of %s reads %s for %s", want, p.Read(), p.Want())
		}
		got := make([][]byte, 16)
		for i := range p.Read().All() {
			got[i] = blocks[i]
		}
		memory := make([]byte, 3, 2*tileSize)
		for i := range want.All() {
			got[i] = memory
			break
		}
		if err := p.Rebuild(got); err != nil {
			t.Fatal(err)
		}
		first := true
		for i := range want.All() {
			if !bytes.Equal(got[i], blocks[i]) {
				t.Errorf("piece %d of %s differs", i, want)
			}
			if first && &got[i][0] != &memory[0] {
				t.Errorf("piece %d is in other memory", i)
			}
			first = false
		}
	}
}

func TestPlansThatDoNotExist(t *testing.T) {
	c := twin{12, 2, 2}.code(t)
	for _, test := range []struct {
		want, have Set
		kind       errs.Kind
	}{
		{0, Range(0, 16), errs.Invalid},
		{SetOf(16), Range(0, 16), errs.Invalid},
		{SetOf(1), Range(3, 6), errs.NoReplicas},
		{SetOf(0, 1, 2, 3), Range(0, 16), errs.NoReplicas},
		{SetOf(0, 6), Range(0, 6).With(12), errs.NoReplicas},
	} {
		if _, err := c.Plan(test.want, test.have); !errors.Is(err, test.kind) {
			t.Errorf("%s from %s: %v", test.want, test.have, err)
		}
	}
}

func TestUpdateIsAnEncode(t *testing.T) {
	for _, w := range slices.Concat(small, large) {
		c := w.code(t)
		for _, length := range []int{1, 33, 64, 1000, deltaSize + 9} {
			blocks := w.random(6, length)
			if err := c.Encode(blocks); err != nil {
				t.Fatal(err)
			}
			for index := range w.data {
				after := w.random(uint64(100+index), length)[0]
				switch index % 3 {
				case 1: // a block that is added
					blocks[index] = make([]byte, length)
					if err := c.Encode(blocks); err != nil {
						t.Fatal(err)
					}
					check(t, c.Update(blocks[w.data:], index, nil, after))
				case 2: // a block that is removed
					check(t, c.Update(blocks[w.data:], index, blocks[index], nil))
					after = make([]byte, length)
				default:
					check(t, c.Update(blocks[w.data:], index, blocks[index], after))
				}
				blocks[index] = after
				want := slices.Clone(blocks)
				for i := w.data; i < w.pieces(); i++ {
					want[i] = make([]byte, length)
				}
				if err := c.Encode(want); err != nil {
					t.Fatal(err)
				}
				for i := w.data; i < w.pieces(); i++ {
					if !bytes.Equal(blocks[i], want[i]) {
						t.Fatalf("%s: parity %d differs after a change of %d", w, i, index)
					}
				}
			}
		}
	}
}

// Begin overwrites the old content of blocks, also if the code has no coefficient for them, as for local parities of
// other groups.
func TestBeginIsAnEncodeOfOneBlock(t *testing.T) {
	for _, w := range slices.Concat(small, large) {
		c := w.code(t)
		for _, length := range []int{1, 33, 64, 1000, deltaSize + 9} {
			for index := range w.data {
				got, want := w.random(uint64(200+index), length), make([][]byte, w.pieces())
				for i := range want {
					want[i] = make([]byte, length)
				}
				copy(want[index], got[index])
				check(t, c.Encode(want))
				check(t, c.Begin(got[w.data:], index, got[index]))
				for i := w.data; i < w.pieces(); i++ {
					if !bytes.Equal(got[i], want[i]) {
						t.Fatalf("%s: parity %d is not that of data piece %d alone", w, i, index)
					}
				}
			}
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Each parity can be updated at its own node.
func TestUpdateOfOneParity(t *testing.T) {
	w := twin{6, 2, 2}
	c := w.code(t)
	blocks := w.random(7, 64)
	w.encode(blocks)
	after := w.random(8, 64)[0]
	for i := range c.Affected(4).All() {
		parity := make([][]byte, 4)
		parity[i-6] = blocks[i]
		check(t, c.Update(parity, 4, blocks[4], after))
	}
	blocks[4] = after
	want := slices.Clone(blocks)
	for i := 6; i < 10; i++ {
		want[i] = make([]byte, 64)
	}
	w.encode(want)
	for i := range want {
		if !bytes.Equal(blocks[i], want[i]) {
			t.Errorf("piece %d differs", i)
		}
	}
}

func TestAffected(t *testing.T) {
	c := twin{6, 2, 2}.code(t)
	for index, want := range map[int]Set{0: SetOf(6, 8, 9), 2: SetOf(6, 8, 9), 3: SetOf(7, 8, 9), 6: 0, -1: 0} {
		if got := c.Affected(index); got != want {
			t.Errorf("piece %d changes %s, want %s", index, got, want)
		}
	}
}

func TestBlocksThatDoNotFit(t *testing.T) {
	c := twin{2, 0, 2}.code(t)
	b := func(lengths ...int) (blocks [][]byte) {
		for _, n := range lengths {
			blocks = append(blocks, make([]byte, n))
		}
		return blocks
	}
	plan, err := c.Plan(SetOf(0), Range(1, 4))
	check(t, err)
	for name, err := range map[string]error{
		"no blocks":              c.Encode(nil),
		"three of four":          c.Encode(b(4, 4, 4)),
		"five of four":           c.Encode(b(4, 4, 4, 4, 4)),
		"empty":                  c.Encode(b(0, 0, 0, 0)),
		"data differ":            c.Encode(b(4, 5, 4, 4)),
		"parity is short":        c.Encode(b(4, 4, 4, 3)),
		"rebuild of three":       c.Rebuild(b(4, 4, 4), SetOf(3)),
		"rebuild, unequal":       c.Rebuild(b(0, 4, 5, 4), SetOf(0)),
		"rebuild, no such piece": c.Rebuild(b(0, 4, 4, 4), SetOf(5)),
		"plan, not there":        plan.Rebuild(b(4, 0, 4, 4)),
		"plan, three":            plan.Rebuild(b(4, 4, 4)),
		"update of parity":       c.Update(b(4, 4), 2, make([]byte, 4), make([]byte, 4)),
		"update below":           c.Update(b(4, 4), -1, make([]byte, 4), make([]byte, 4)),
		"update, one parity":     c.Update(b(4), 0, make([]byte, 4), make([]byte, 4)),
		"update, unequal":        c.Update(b(4, 4), 0, make([]byte, 4), make([]byte, 3)),
		"update, short parity":   c.Update(b(4, 3), 0, make([]byte, 4), make([]byte, 4)),
		"update of nothing":      c.Update(b(4, 4), 0, nil, nil),
		"begin with parity":      c.Begin(b(4, 4), 2, make([]byte, 4)),
		"begin, one parity":      c.Begin(b(4), 0, make([]byte, 4)),
		"begin, short parity":    c.Begin(b(4, 3), 0, make([]byte, 4)),
		"begin with nothing":     c.Begin(b(4, 4), 0, nil),
	} {
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	blocks := b(4, 4, 4, 4)
	check(t, c.Rebuild(blocks, SetOf(1))) // the block is present
}

// A code is shared by all files of its kind.
func TestConcurrentUse(t *testing.T) {
	w := twin{12, 2, 2}
	c, s := w.code(t), sketcher(t, 5)
	plan, err := c.Plan(SetOf(0, 1), Range(0, 16))
	check(t, err)
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			blocks := w.random(uint64(n), 3000)
			want := slices.Clone(blocks)
			for range 20 {
				if err := errors.Join(c.Encode(blocks), c.Update(blocks[12:], 3, blocks[3], blocks[4]), c.Update(blocks[12:], 3, blocks[4], blocks[3])); err != nil {
					t.Error(err)
				}
				lost := slices.Clone(blocks)
				lost[0], lost[1] = nil, nil
				if err := plan.Rebuild(lost); err != nil || !bytes.Equal(lost[0], want[0]) || !bytes.Equal(lost[1], want[1]) {
					t.Errorf("a rebuilt block differs: %v", err)
				}
				if _, err := s.Sketch(blocks[0]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func TestSet(t *testing.T) {
	s := SetOf(0, 5, 31, 32, -1, 5)
	if s.String() != "{0 5 31}" || s.Len() != 3 || !s.Has(31) || s.Has(32) || s.Has(-1) || s.Without(5) != SetOf(0, 31) {
		t.Error(s)
	}
	if got := slices.Collect(s.All()); !slices.Equal(got, []int{0, 5, 31}) {
		t.Error(got)
	}
	for range s.All() {
		break
	}
	if Range(-3, 40) != ^Set(0) || Range(2, 2) != 0 || Range(1, 3) != SetOf(1, 2) || Set(0).String() != "{}" {
		t.Error("a range is wrong")
	}
}
