//go:build !race

package poll

// sent and received do nothing without the race detector; see raced.go.
func sent(int) {}

// received: see sent.
func received(int) {}
