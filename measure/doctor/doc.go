// Package doctor judges a machine for storage: it finds the slowest level, faults, and settings to change.
//
// A [Snapshot] has all information about the machine, from the kernel and from short measurements. Package observe takes
// snapshots. [Diagnose] makes a [Report] of one, and is pure: the same snapshot gives the same report, on any machine. So
// recorded snapshots of other machines test the rules, and a snapshot may be sent to an expert.
//
// # Findings
//
// Each [Finding] has an id that stays the same between versions, and a section of that name in docs/doctor.md. A finding
// is a [Problem] only if a figure of the snapshot shows a cost, or that something failed. A [Risk] costs nothing yet and
// will. A [Hint] is a setting that published measurements show to be slow, without a figure from this machine. Missing
// information is listed in Snapshot.Unseen, and is never a finding: a virtual machine without a frequency governor is
// healthy.
//
// # Levels
//
// Levels are measured from the hardware up, and each uses the one below: device, file system, one stream, many streams.
// Page cache, memory, bus, the host's own TCP, network card and path are levels beside them. The narrowest level is the
// lowest one that explains the rate of many streams, or a level beside them with a lower rate.
//
// # Units
//
// Rates are in B/s, sizes in bytes, shares in 1, times in s or time.Duration.
package doctor
