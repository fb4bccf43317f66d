// Package energy computes the energy of a load from readings of meters: W, J, bytes per joule, the energy-delay product.
// It is the level "energy" of `hemera bench`.
//
// # Parts
//
//	meter        reads devices (package meter)
//	Sampler      reads all meters while a level works, and logs every reading
//	Course       what one meter said over time; its energy between two times
//	Plan         what was measured and under which assumptions: the input of all figures
//	Plan.Record  the figures, from nothing but the plan and the iterations
//	ReadPlan     the logs of a run, for --replay; WritePlan and WriteCourses leave them
//
// # Method
//
//  1. The machine rests for the idle time. Its mean power is the baseline.
//  2. The level works. It notes when each iteration began and ended, and how much it did (result.Iteration).
//  3. The energy of an iteration is the integral of the power from its begin to its end, summed over the meters.
//  4. A constant share of others, such as a switch on the same meter, is subtracted.
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
// A power is a value at a time: between two readings it is a straight line, and the integral is the trapezoid. A counter
// has the energy itself: between two readings it grows evenly. Both are interpolated at the ends of an iteration. Nothing
// is extrapolated: an iteration outside of the readings has no energy.
//
// # Estimates
//
// If any of the meters estimates, everything that follows from it is an estimate, and result.Measure says so.
//
// # Pure
//
// All but Sampler and the logs is arithmetic on values, so that a replay of the logs gives the same figures.
package energy
