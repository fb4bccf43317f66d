package erasure

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// The twin computes the codes as in a textbook, a byte at a time. It shares no table and no code with the package.

// twinMultiply multiplies bit by bit: the bits first, then the remainder.
func twinMultiply(a, b byte) byte {
	product := 0
	for bit := range 8 {
		if b>>bit&1 == 1 {
			product ^= int(a) << bit
		}
	}
	for bit := 14; bit >= 8; bit-- {
		if product>>bit&1 == 1 {
			product ^= 0x11d << (bit - 8)
		}
	}
	return byte(product)
}

// twinTimes looks up the result of twinMultiply.
func twinTimes(a, b byte) byte { return twinTable()[a][b] }

var twinTable = sync.OnceValue(func() *[256][256]byte {
	var t [256][256]byte
	for a := range t {
		for b := range t[a] {
			t[a][b] = twinMultiply(byte(a), byte(b))
		}
	}
	return &t
})

// twinInverse finds the inverse by search.
func twinInverse(a byte) byte {
	for b := range 256 {
		if twinTimes(a, byte(b)) == 1 {
			return byte(b)
		}
	}
	panic("zero has no inverse")
}

// twinPower multiplies n times.
func twinPower(a byte, n int) byte {
	p := byte(1)
	for range n {
		p = twinTimes(p, a)
	}
	return p
}

// twin is a code by its parameters: local is zero for Reed-Solomon.
type twin struct{ data, local, global int }

func (t twin) String() string {
	if t.local == 0 {
		return fmt.Sprintf("%d+%d", t.data, t.global)
	}
	return fmt.Sprintf("%d+%d+%d", t.data, t.local, t.global)
}

func (t twin) pieces() int { return t.data + t.local + t.global }

// code returns the package's code with the same parameters.
func (t twin) code(tb testing.TB) *Code {
	tb.Helper()
	c, err := ReedSolomon(t.data, t.global)
	if t.local > 0 {
		c, err = Local(t.data, t.local, t.global)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// group returns the group of a data piece, and its position in it.
func (t twin) group(i int) (group, position int) {
	for g := range t.local {
		size := t.data / t.local
		if g < t.data%t.local {
			size++
		}
		if i < size {
			return g, i
		}
		i -= size
	}
	panic("no data piece")
}

// matrix returns a row for each piece.
func (t twin) matrix() (m [][]byte) {
	for i := range t.data {
		m = append(m, make([]byte, t.data))
		m[i][i] = 1
	}
	for g := range t.local {
		r := make([]byte, t.data)
		for i := range r {
			if in, _ := t.group(i); in == g {
				r[i] = 1
			}
		}
		m = append(m, r)
	}
	for p := range t.global {
		r := make([]byte, t.data)
		for i := range r {
			x, y := byte(p), byte(32+i)
			if t.local > 0 {
				x++
			}
			r[i] = twinTimes(y, twinInverse(x^y))
			if t.local > 1 && t.global <= 2 {
				g, position := t.group(i)
				r[i] = twinPower(twinPower(2, g+17*position), p+1)
			}
		}
		m = append(m, r)
	}
	return m
}

// encode fills the parity blocks.
func (t twin) encode(blocks [][]byte) {
	for p, r := range t.matrix()[t.data:] {
		for at := range blocks[0] {
			var sum byte
			for i := range t.data {
				sum ^= twinTimes(r[i], blocks[i][at])
			}
			blocks[t.data+p][at] = sum
		}
	}
}

// twinRank returns the rank of the rows, by elimination in a copy.
func twinRank(rows [][]byte) (rank int) {
	if len(rows) == 0 {
		return 0
	}
	m := make([][]byte, len(rows))
	for i := range rows {
		m[i] = append([]byte(nil), rows[i]...)
	}
	for column := range m[0] {
		for i := rank; i < len(m); i++ {
			if m[i][column] == 0 {
				continue
			}
			m[rank], m[i] = m[i], m[rank]
			inverse := twinInverse(m[rank][column])
			for j := rank + 1; j < len(m); j++ {
				f := twinTimes(m[j][column], inverse)
				for c := range m[j] {
					m[j][c] ^= twinTimes(f, m[rank][c])
				}
			}
			rank++
			break
		}
	}
	return rank
}

// rows returns the rows of the pieces in the set.
func (t twin) rows(of Set) (rows [][]byte) {
	m := t.matrix()
	for i := range of.All() {
		rows = append(rows, m[i])
	}
	return rows
}

// recoverable reports whether any code with these groups could recover from the loss: a group's parity rebuilds one piece
// of the group, and each global parity that is left one more piece.
func (t twin) recoverable(lost Set) bool {
	need := 0
	inGroup := make([]int, max(t.local, 1))
	for i := range lost.All() {
		switch {
		case t.local == 0 || i >= t.data+t.local:
			need++
		case i >= t.data:
			inGroup[i-t.data]++
		default:
			g, _ := t.group(i)
			inGroup[g]++
		}
	}
	for _, n := range inGroup {
		need += max(n-1, 0)
	}
	return need <= t.global
}

// random returns one block for each piece; parity is noise.
func (t twin) random(seed uint64, length int) [][]byte {
	r := rand.New(rand.NewPCG(seed, 7))
	blocks := make([][]byte, t.pieces())
	for i := range blocks {
		blocks[i] = make([]byte, length)
		for at := range blocks[i] {
			blocks[i][at] = byte(r.Uint32())
		}
	}
	return blocks
}

// losses yields all sets of n pieces out of total.
func losses(total, n int, visit func(Set)) {
	var choose func(from, left int, s Set)
	choose = func(from, left int, s Set) {
		if left == 0 {
			visit(s)
			return
		}
		for i := from; i <= total-left; i++ {
			choose(i+1, left-1, s.With(i))
		}
	}
	choose(0, n, 0)
}
