//go:build !race

package netjudge

// raced: the race detector is on, and the simulated clusters take ten times as long.
const raced = false
