//go:build !race

package namespace_test

// racing: the race detector is off.
const racing = false
