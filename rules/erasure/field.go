package erasure

// fieldPoly is the polynomial of the field without its highest power: x^8 = x^4+x^3+x^2+1. The element 2 generates the
// 255 elements that are not zero.
const fieldPoly = 0x1d

// powers[n] is 2 to the power of n. It is twice as long as its period, so that a sum of two logarithms is an index. logs
// is its inverse; logs[0] has no meaning.
var powers, logs = func() (p [510]byte, l [256]int) {
	x := byte(1)
	for n := range 255 {
		p[n], p[n+255], l[x] = x, x, n
		carry := x >> 7
		x = x<<1 ^ carry*fieldPoly
	}
	return p, l
}()

// times multiplies two elements.
func times(a, b byte) byte {
	if a == 0 || b == 0 {
		return 0
	}
	return powers[logs[a]+logs[b]]
}

// over divides a by b, which must not be zero.
func over(a, b byte) byte {
	if a == 0 {
		return 0
	}
	return powers[logs[a]+255-logs[b]]
}
