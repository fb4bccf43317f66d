// Package gc decides which disk copies of archived files are evicted, so that the disk buffer has room for new files and for recalls. It is pure.
//
// The owner walks the files of a space page by page. [Wanted] says how many bytes are to become free, and [Choose] which files of a page go, each with a
// reason. Those that were not used for longest go first.
//
// # What is never evicted
//
//   - A file that has no copy on a tape that can be read, for each copy that its storage class asks for. Two copies on one tape are one.
//   - A file that requests still need: its evict counter is above zero.
//   - A file that is being written, archived or recalled.
//
// These rules hold for every reason to evict a file, also for directories that keep nothing on disk.
package gc
