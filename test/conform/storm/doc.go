// Package storm lets everything go wrong at once on a real cluster: a manager and ten nodes as processes, each in a network
// namespace of its own and each with a small filesystem as its disk, while stock clients and this project's write, read and
// remove files of all layouts.
//
// Meanwhile processes are killed, stopped for seconds, and slowed down, disks are filled up, cables lose packets, bits in
// pieces are flipped, and pieces are removed behind the cluster's back. A file is damaged at most as far as its layout survives.
//
// Then it is quiet, and the test waits for what the cluster promises: every acknowledged file reads back, every bad piece is
// good again, the namespace and the disks agree, and the room of removed files is free.
//
// It needs root and the program under test: scripts/test.sh storm. HEMERA_STORM_TIME is how long it storms, and
// HEMERA_STORM_SEED repeats the choices of a run, though not their moments.
package storm
