package transfer

// recentMax bounds the keys that a [recentTable] remembers.
const recentMax = 1 << 16

// recentTable remembers a value for each of the last [recentMax] keys that were added. The zero value is empty. Its methods are not for
// concurrent use.
type recentTable[K comparable, V any] struct {
	known  map[K]V
	order  []K // of known: a ring once it is full, in which oldest is the first
	oldest int
}

// Add remembers what became of a key, and forgets the oldest key if there are too many. A key that is known keeps its age.
func (t *recentTable[K, V]) Add(key K, what V) {
	if t.known == nil {
		t.known = map[K]V{}
	}
	_, again := t.known[key]
	t.known[key] = what
	switch {
	case again:
	case len(t.order) < recentMax:
		t.order = append(t.order, key)
	default:
		delete(t.known, t.order[t.oldest])
		t.order[t.oldest] = key
		t.oldest = (t.oldest + 1) % recentMax
	}
}

// Get returns what became of a key, if it is remembered.
func (t *recentTable[K, V]) Get(key K) (what V, ok bool) {
	what, ok = t.known[key]
	return what, ok
}
