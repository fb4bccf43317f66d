package meter

// counter counts on where a counter of hardware wraps. The zero value has read nothing.
type counter struct {
	begun bool
	last  uint64
	total float64 // units since the first reading
}

// add takes a reading and returns the units since the first one. span is the number of values that the hardware counter has;
// 0 if it never wraps. A counter that wrapped more than once between two readings cannot be told from one that did once, so
// meters are read more often than that.
func (c *counter) add(now, span uint64) float64 {
	if c.begun {
		c.total += float64(grown(c.last, now, span))
	}
	c.begun, c.last = true, now
	return c.total
}

// grown is how far a counter moved from one reading to the next. A counter without a span that went back was reset: what it
// counted before the reading is not known, and what it has counted since is.
func grown(before, now, span uint64) uint64 {
	switch {
	// The common case.
	case now >= before:
		return now - before
	// It went through its largest value and 0 once.
	case span > before:
		return span - before + now
	}
	return now
}
