//go:build race

package sim

// seedsOtherwise is how many seeds run unless told: fewer where each takes ten times as long.
const seedsOtherwise = 20

// racing: the race detector is on.
const racing = true
