//go:build race

package namespace_test

// racing: the race detector is on, which makes everything ten times slower.
const racing = true
