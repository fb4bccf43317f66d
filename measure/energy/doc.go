// Package energy computes the energy of a load from readings of meters: W, J, bytes per joule, the energy-delay product.
// It is the level "energy" of `hemera bench`.
//
// # Parts
//
//	meter        reads devices (package meter)
//	Sampler      reads all meters while a level works, and logs every reading
//	Course       the readings of one meter over time; its energy between two times
//	Plan         the measurements and assumptions: the input of all figures
//	Plan.Record  the figures, from the plan and the iterations only
//	ReadPlan     reads the logs of a run, for --replay; WritePlan and WriteCourses write them
//
// # Method
//
//  1. The machine rests for the idle time. Its mean power is the baseline.
//  2. The level works. It records the start, the end and the work of each iteration (result.Iteration).
//  3. The energy of an iteration is the integral of the power from its begin to its end, summed over the meters.
//  4. A constant power of other devices, such as a switch on the same meter, is subtracted.
//
// # Formulas
//
//	E = ∫ P dt − S·t              J; P the sum of the meters, S the subtracted power, t the duration
//	mean power = E/t              W
//	energy above idle = E − I·t   J; I the mean power of the idle time after subtraction
//	efficiency = bytes/E          B/J, the same number as throughput per watt
//	EDP = E·t^w                   J·s^w; w weighs the delay
//	capacity per watt = C/I       B/W
//
// # Interpolation
//
// A reading of power is a value at a time: between two readings the power follows a straight line, and its integral is a
// trapezoid. A counter counts energy: between two readings it grows evenly. Both are interpolated at the ends of an
// iteration. Nothing is extrapolated: an iteration outside of the readings has no energy.
//
// # Estimates
//
// If any meter estimates, all results from it are estimates, and marked so in result.Measure.
//
// # Pure functions
//
// Except for Sampler and the logs, the package only computes with values, so that a replay of the logs gives the same
// figures.
package energy
