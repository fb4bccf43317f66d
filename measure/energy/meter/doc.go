// Package meter reads the power of machines: counters of processors, sensors of boards, management controllers, and
// recordings of other programs.
//
// # Meters
//
// A [Meter] gives the power in W, or a counter of energy in J. [About] says which of them, and gives the measured parts,
// the resolution, the interval, and whether the value is an estimate. [Open] makes a meter from the text of a user:
//
//	rapl                       counters of the processors and their memory (Intel, AMD)
//	rapl:psys                  the counter of the whole platform, where the firmware has one
//	hwmon, hwmon:CHIP/SENSOR   sensors of the kernel
//	ipmi, ipmi:HOST            the management controller, by DCMI
//	csv:FILE                   a recording of another program
//	model:idle=W,peak=W        an estimate from the use of the processors
//
// # Counters and powers
//
// A counter is exact over any time, however rarely one reads it. A power gives no information about the time between two
// readings, so it is read often. Counters of hardware wrap; the counters of meters do not, and begin at 0.
//
// # Overlapping values
//
// Domains of RAPL contain each other, so [Domains] takes each joule once. Sensors of a board overlap too, and the kernel
// does not say which; so hwmon takes one sensor, or those of the inputs of all power supplies.
//
// # Secrets
//
// Passwords come from a file that only its owner can read. They are sent, and appear in no error, no name and no log.
//
// # Goroutines and time
//
// A meter belongs to one goroutine. Read blocks until the device answers or ctx ends; the caller sets the deadline.
// Parsers are pure functions of a device's answer.
package meter
