// Package simtape is the tape server of a simulated cluster: the real tape/server over the emulated library, as a process that is
// killed and starts again. It also draws faults of devices, reads cartridges without a line of the code that wrote them, and remembers
// which requests were acknowledged.
//
// A library is a directory on the host: what its files hold is all that outlives a process. Devices wait by the clock of the bubble.
package simtape
