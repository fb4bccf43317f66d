// Package doctor judges a machine that is to hold data: which level is the narrowest, what is wrong, and what to change.
//
// A [Snapshot] is all that is known of the machine: what the kernel tells, and what short measurements showed. Package observe
// takes one. [Diagnose] turns it into a [Report], and is pure: the same snapshot gives the same report, on any machine. So
// recorded snapshots of other machines test the rules, and a snapshot may be sent to somebody who understands it.
//
// # Findings
//
// Each [Finding] has an id that stays the same between versions, and a section of that name in docs/doctor.md. A finding is a
// [Problem] only if a figure of the snapshot shows a cost, or that something failed. A [Risk] costs nothing yet and will. A [Hint] is a setting
// that published measurements show to be slow, without a figure from this machine. What this machine does not show is
// in Snapshot.Unseen, and never a finding: a virtual machine without a frequency governor is healthy.
//
// # Levels
//
// Levels are measured from the hardware up, and each uses the one below: device, file system, one stream, many streams; beside
// them page cache, memory, bus, the host's own TCP, network card and path. The narrowest level is the lowest one that explains what
// many streams reach, or the level beside it that carries less.
//
// # Units
//
// Rates are in B/s, sizes in bytes, shares in 1, times in s or time.Duration.
package doctor
