// Package timing is how cartridges and drives behave in time: how long a drive takes from one place of a tape to another, and what it
// does when the host is slower than the tape.
//
// Three parts build on each other. [Media] is the table of published figures by kind of cartridge. [Geometry] places bytes on the wraps of
// a tape, and says how long a locate, a rewind or an unload takes. [Stream] is a drive that writes or reads at the pace of a host: it matches its speed to the
// host in steps, and stops with a back-hitch when the host is slower than the slowest step.
//
// All of it is pure. Times are durations since any moment that the caller likes, so that a virtual clock and a real one serve alike.
// Where a figure is not published, the comment at it says that it is an estimate.
package timing
