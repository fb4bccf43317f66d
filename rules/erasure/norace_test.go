//go:build !race

package erasure

const raced = false
