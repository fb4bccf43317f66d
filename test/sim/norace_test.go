//go:build !race

package sim

// seedsOtherwise is how many seeds run unless told.
const seedsOtherwise = 100

// racing: the race detector is off.
const racing = false
