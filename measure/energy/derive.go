package energy

import "math"

// Use is what a piece of work took.
type Use struct {
	Joules  float64 // of all meters, less the subtracted power
	Seconds float64
}

// Watts is the mean power.
func (u Use) Watts() float64 { return u.Joules / u.Seconds }

// Above is the energy in J above an idle power in W.
func (u Use) Above(idle float64) float64 { return u.Joules - idle*u.Seconds }

// PerJoule is the work, in bytes or operations, that a joule does. It equals the work a second divided by the power.
func (u Use) PerJoule(work float64) float64 { return work / u.Joules }

// EDP is the energy-delay product E·t^w in J·s^w. The weight w says how much a delay matters: 0 not at all, 1 as much as energy, 2 more.
func (u Use) EDP(w float64) float64 { return u.Joules * math.Pow(u.Seconds, w) }

// EDPOf is the energy-delay product of one unit of the work. It compares conditions that did different amounts; for equal
// amounts its ratios are those of EDP.
func (u Use) EDPOf(work, w float64) float64 { return u.EDP(w) / math.Pow(work, 1+w) }

// PerWatt is the throughput for a power, or the capacity: bytes a second in W give B/J, bytes in W give B/W.
func PerWatt(bytes, watts float64) float64 { return bytes / watts }

// hoursPerYear is the mean of leap years and others.
const hoursPerYear = 8766

// Cost is what storage costs.
type Cost struct {
	Capital float64 `json:"capital"` // of the machines, in the user's currency
	PerKWh  float64 `json:"per_kwh"` // of energy
	Years   float64 `json:"years"`   // that the machines serve
}

// Energy is the cost of a power in W over the years.
func (c Cost) Energy(watts float64) float64 { return watts / 1000 * hoursPerYear * c.Years * c.PerKWh }

// PerTB is the cost of 10^12 bytes over the years: the machines, and their energy at a power in W.
func (c Cost) PerTB(watts, bytes float64) float64 {
	return (c.Capital + c.Energy(watts)) / (bytes / 1e12)
}
