// Package emulated is a tape library without hardware: drives, one robot arm
// and cartridges below a directory, with the timing of real ones. It
// implements the interfaces of tape/device; tape/timing says how long
// everything takes.
//
// # Files
//
// library.json has what stands where; it is replaced as a whole with each
// move of the arm. Each cartridge has three files in cartridges:
// BARCODE.data, the bytes of its blocks; BARCODE.index, one record of 48
// bytes for each object, with checksums; and BARCODE.json, what a real
// cartridge keeps in its memory chip. faults.json, if it is there, makes
// devices fail: see [Plan]. The file lock keeps a second process out.
//
// # Durability
//
// A block goes to the data file at once. Its record stays in memory, as if in
// the buffer of the drive, until a flush: the data is synced, then the
// records are appended and synced. A process that is killed therefore loses
// the objects since the last flush, whole from one object on. What stands
// behind the first record that is damaged is not on tape.
//
// # Time
//
// Each device has a time of its own, in durations since the library was
// opened. An operation begins when the device has ended the last one, and not
// before the clock says so; then the caller waits until the clock shows its
// end. At time scale 0 nobody waits, and the time of a device is what it was
// busy for. At scale 1 a second is a second. Waits below a millisecond are
// not slept: the device is ahead of the clock by them until they have added
// up.
//
// # Locks
//
// A device works on one operation at a time; a token, not a mutex, is held
// for it, because operations wait for time and for files. Mutexes guard
// memory only. The arm's token is acquired before that of a drive.
package emulated
