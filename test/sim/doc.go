// Package sim runs a whole cluster in one process from a seed: the real manager and namespace over a
// store that loses what was not durable, real nodes and disks over memory that knows what was synced,
// and clients that create, update, rename, read and remove files at the same time, while a nemesis
// loses, delays and doubles messages, partitions the network, in one direction too, kills processes, cuts
// the power of machines, and has disks fill up, refuse writes, hang, forget, flip bits or vanish. In some simulations
// moves and removals are slow, pieces that are not right stand where copies of them are made later, a node is in bad
// hands, or the manager is started over an older copy of its store. Readers are cut off and go on. An admin sets
// quotas, drains disks and takes backups meanwhile.
//
// What it holds the system to: no acknowledged content is lost or changed while at most as many disks
// are gone as the layout has redundancy; nothing is ever visible that was not written as a whole, and
// nothing that was refused; when faults stop, every file is whole on healthy disks, disks hold nothing
// else, totals, lists and what quotas count are exact, and fsck finds nothing; every backup can be restored.
//
// Every choice comes from the seed. Time is that of a testing/synctest bubble, so a simulated minute
// takes milliseconds. How goroutines interleave at one instant is the scheduler's choice: a seed
// repeats the plan, and a failure that needs a rare interleaving may take some repetitions.
package sim
