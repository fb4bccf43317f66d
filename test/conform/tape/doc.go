// Package tape takes files to tape and back on a real cluster with emulated drives, with stock clients (xrdcp, xrdfs), while processes are killed:
//
//   - TestWalk: one file at a time on `hemera up`, which is killed in between; a pool with an encryption key; disk copies that turn bad; a library that
//     is put down.
//   - TestScan: all but the cartridges is lost, and comes back from them.
//   - TestKilled: manager, two nodes and a tape server as processes, each killed at each point of the way.
//   - TestStorm: files of ten users, while drives fail and processes are killed. It takes minutes, and runs only if HEMERA_TAPE_FILES says how many.
//
// The processes are those of package rig. What is on a cartridge is read by its labels alone (test/tapelabels), so no mistake of Hemera can hide there.
// Nothing in TestKilled is left to chance: an operation of the drive hangs, processes that would go on are frozen, and the test waits until the
// cartridge and the disks show that the point is reached.
//
// The tests need the program under test: go test ./test/conform/tape/ -args -hemera bin/hemera, or scripts/test.sh tape and tapestorm. They are
// skipped without it. HEMERA_TAPE_WALKS=all has more walks.
package tape
