package transfer

// recentWrites remembers something of each of the last endedMax writes that were added. The zero value is empty.
type recentWrites[V any] struct {
	known  map[pendingKey]V
	order  []pendingKey // of known: a ring once it is full, in which oldest is the first
	oldest int
}

// add remembers what became of a write, and forgets the oldest one if there are too many.
func (m *recentWrites[V]) add(key pendingKey, what V) {
	if m.known == nil {
		m.known = map[pendingKey]V{}
	}
	_, again := m.known[key]
	m.known[key] = what
	switch {
	case again:
	case len(m.order) < endedMax:
		m.order = append(m.order, key)
	default:
		delete(m.known, m.order[m.oldest])
		m.order[m.oldest] = key
		m.oldest = (m.oldest + 1) % endedMax
	}
}

// get returns what became of a write, if it is remembered.
func (m *recentWrites[V]) get(key pendingKey) (V, bool) {
	what, ok := m.known[key]
	return what, ok
}
