//go:build race

package erasure

// raced: the race detector is on. It keeps functions from being inlined, so that they allocate.
const raced = true
