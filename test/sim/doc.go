// Package sim runs a whole cluster in one process from a seed, with faults, and checks it. DESIGN.md says what a run
// proves and how to replay one.
//
// Real parts: manager, namespace, nodes, disks, transfer, maint. Simulated parts: the manager's store (simkv), which
// loses what was not durable; files in memory that know what was synced (drive.go); messages (package simnet); processes
// and machines that end at any moment (process.go, machine.go).
//
// Actors: clients create, update, rename, read and remove files at the same time (client.go). An admin sets quotas,
// drains disks and takes backups. In some plans a machine has a bad cable, which its counts show (cable.go). A nemesis
// (nemesis.go) loses, delays and doubles messages, partitions the network also
// in one direction, kills processes, cuts the power of machines, and makes disks fill up, refuse writes, stall, forget,
// flip bits or vanish. In half of the plans files have coded layouts beside copies (layouts.go), by their directory or by the
// wish of the client, which also writes over, behind gaps, and reads back what it writes. Some plans also have slow moves and
// removals, wrong pieces in the place of later copies (plant.go),
// a node in bad hands (rogue.go), or a manager that starts over an older copy of its store (stale.go).
//
// In half of the plans what is removed goes to a recycle bin, or what is replaced stays as a version (kept.go). Clients then also
// restore what they removed, to other names, put versions back, and purge. The rule of the bin is one that keeps everything,
// or one of time or size that the bin must hold.
//
// Some plans have a tape server with an emulated library (tape.go, package simtape), and directories whose files are archived once or
// twice. Clients then also stage, release, evict and withdraw (tapeclient.go); the nemesis cuts the power of drives, ends the tape server
// at a call, has devices fail and the disks be full (tapenemesis.go).
//
// Checks during a run: a client never sees content that was not written as a whole or that was refused, and no
// acknowledged content is lost or changed while at most as many disks are gone as the layout has redundancy (package register).
// Checks after the faults stop: every file has all its pieces on healthy disks, disks hold nothing else, totals, lists
// and quotas are exact, fsck finds nothing, and every backup can be restored (settle.go). The pieces of each coded file are read
// past all servers: its parity agrees with its data (parity.go). All that bins have is restored and read, what had to be kept is
// there, and after a purge the space is free (keptjudge.go). In some runs the namespace is lost with all backups then, and made
// again from the pieces: every file is back with its content, its owner and its layout (rebuilt.go). Every file has its copies on tape, every request
// was served, and the cartridges, read by labels alone, have the bytes of each row of the catalogue (tapejudge.go). In some runs a drive comes back as an older
// copy of itself: the cluster says so, and lacks nothing later (olderdisk.go). At the very end of some runs more drives vanish at once than
// files survive (ruin.go), or more pieces of a file are bad at one page (rot.go): what is lost is told exactly, and nothing
// else is lost.
//
// Every choice comes from the seed. Time is that of a testing/synctest bubble, so a simulated minute takes milliseconds.
// The scheduler of Go chooses how goroutines interleave at one instant, so a seed repeats the plan but not each
// interleaving; a failure that needs a rare one may take some repetitions.
//
// # Goroutines and locks
//
// Each client, each actor of the nemesis, each node and the manager have goroutines of their own. The world's lock guards its
// dice and its failures; oracle, network, trace, stalled commits and store sessions have a lock each. A
// session's lock is acquired before that of its device, and that of the stalled commits before the world's. The trace's lock is the
// innermost: servers log while they hold locks of their own.
//
// A goroutine that waits for a mutex stops the bubble's clock, because synctest does not count that as waiting. So no
// actor sleeps while it holds a lock, and delays of disks and of the namespace come before the lock they would otherwise extend.
//
// # Sabotage
//
// A simulator that finds nothing proves nothing. Each [Sabotage] breaks one rule of the system, and a test shows that some
// seed notices it.
package sim
