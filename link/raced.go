//go:build race

package link

// raced has every transfer go through package syscall: there the race detector learns that what was
// received happened after it was sent, as it does for package net.
const raced = true
