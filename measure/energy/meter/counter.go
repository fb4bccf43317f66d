package meter

// counter continues to count where a hardware counter wraps. The zero value has no reading.
type counter struct {
	begun bool
	last  uint64
	total float64 // units since the first reading
}

// add adds a reading and returns the units since the first one. span is the number of values of the hardware counter; 0
// if it never wraps. A counter that wrapped twice between two readings looks like one that wrapped once, so meters are
// read more often than that.
func (c *counter) add(now, span uint64) float64 {
	if c.begun {
		c.total += float64(grown(c.last, now, span))
	}
	c.begun, c.last = true, now
	return c.total
}

// grown returns the growth of a counter between two readings. A counter without a span that went back was reset: the
// units before the reset are unknown, and the reading counts the units since.
func grown(before, now, span uint64) uint64 {
	switch {
	// The common case.
	case now >= before:
		return now - before
	// It passed its largest value and 0 once.
	case span > before:
		return span - before + now
	}
	return now
}
