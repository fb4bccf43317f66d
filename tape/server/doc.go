// Package server is the tape server of a node: it owns a library, and for each drive asks the manager what to do, carries and loads
// cartridges, and runs sessions. Which tape is mounted and which files are written is decided by the manager.
//
// # States of a drive
//
//	          nothing in it                 mount            carried
//	probing ----------------> idle -------------------> fetching ---> loading ---> working
//	   ^  |                   ^ |^                                                    | |
//	   |  | a cartridge       | |+----------------------------------------------------+ |
//	   |  +-----> unloading --+ |  the tape stays in the drive                           |
//	   |             ^          | another tape, or unload                                |
//	   |             +----------+--------------------------------------------------------+
//	   +---- down <--- a fault of drive or robot                      the tape cannot be used
//
// A mount that fails before it works is reported first (ending). A machine decides, and is pure; the loop of a drive does the I/O.
//
// A tape stays in the drive until the manager wants another one there, or none. A cartridge that is in a drive when the server starts
// is carried away. A drive with a fault is down for a pause, which grows up to ten minutes, and is then looked at again: faults that
// pass need nobody.
//
// A watchdog bounds each call of a device, by 15 minutes and a load by ten times that. After a fifth of it people hear of the call.
// Behind the bound the drive is down, and its jobs go back to the manager.
//
// # What the manager may believe
//
// The manager hears of a file when the drive has flushed it, and of a recalled one when it was committed. A report whose answer is
// lost is sent again until the manager says yes, or says that the mount is not its own any more. Then what was written since the last
// report is void: the next append goes behind the last file that the manager has, so it is overwritten.
//
// # Goroutines, and what blocks
//
// Run has a goroutine for each drive and one for reports. All calls to a drive come from its goroutine, and block as long as the drive
// does. The arm of the robot is a turn: a move waits for the moves before it. Mutexes guard what reports read, and are never held over
// a call.
package server
