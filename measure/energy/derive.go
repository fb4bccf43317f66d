package energy

import "math"

// Use is the energy and the time of a piece of work.
type Use struct {
	Joules  float64 // of all meters, without the subtracted power
	Seconds float64
}

// Watts returns the mean power.
func (u Use) Watts() float64 { return u.Joules / u.Seconds }

// Above returns the energy in J above an idle power in W.
func (u Use) Above(idle float64) float64 { return u.Joules - idle*u.Seconds }

// PerJoule returns the work, in bytes or operations, per joule. It equals the rate of the work divided by the power.
func (u Use) PerJoule(work float64) float64 { return work / u.Joules }

// EDP returns the energy-delay product E·t^w in J·s^w. The weight w is the importance of a delay: 0 none, 1 as much as
// energy, 2 more.
func (u Use) EDP(w float64) float64 { return u.Joules * math.Pow(u.Seconds, w) }

// EDPOf returns the energy-delay product of one unit of the work. It compares conditions with different amounts of work;
// for equal amounts its ratios are those of EDP.
func (u Use) EDPOf(work, w float64) float64 { return u.EDP(w) / math.Pow(work, 1+w) }

// PerWatt returns the throughput or the capacity per watt: bytes a second and W give B/J, bytes and W give B/W.
func PerWatt(bytes, watts float64) float64 { return bytes / watts }

// hoursPerYear is the mean over leap years and others.
const hoursPerYear = 8766

// Cost has the prices for the cost of storage.
type Cost struct {
	Capital float64 `json:"capital"` // of the machines, in the user's currency
	PerKWh  float64 `json:"per_kwh"` // of energy
	Years   float64 `json:"years"`   // that the machines serve
}

// Energy returns the cost of a power in W over the years.
func (c Cost) Energy(watts float64) float64 { return watts / 1000 * hoursPerYear * c.Years * c.PerKWh }

// PerTB returns the cost of 10^12 bytes over the years: the machines, and their energy at a power in W.
func (c Cost) PerTB(watts, bytes float64) float64 {
	return (c.Capital + c.Energy(watts)) / (bytes / 1e12)
}
