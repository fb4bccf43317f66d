package tapemodel

// Span is a part of a tape that is read from Begin to End.
type Span struct{ Begin, End Place }

// Order returns the indexes of spans in an order that travels little: the next one is always that whose begin is reached soonest from where the
// tape stands then. It takes time by the square of the number of spans; a few thousand are fine.
func (g Geometry) Order(from Place, spans []Span) []int {
	left := make([]int, len(spans))
	for i := range left {
		left[i] = i
	}
	order := make([]int, 0, len(spans))
	for len(left) > 0 {
		best := 0
		cost := g.Locate(from, spans[left[0]].Begin)
		for i, s := range left[1:] {
			if c := g.Locate(from, spans[s].Begin); c < cost {
				best, cost = i+1, c
			}
		}
		next := left[best]
		order = append(order, next)
		from = spans[next].End
		// In place of removing it: the last one takes its place. Equal costs may then be chosen in another order.
		left[best] = left[len(left)-1]
		left = left[:len(left)-1]
	}
	return order
}
