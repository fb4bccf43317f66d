// Package rebuild makes a namespace again from the footers of the pieces that disks have.
//
// # How
//
// Each disk lists its pieces in the order of their ids, a page at a time. [Run] merges the lists, so that all pieces of a
// file come together, whatever the number of files. Choose then decides, from the pieces alone, which content the file
// had: the newest of those that can be read. The namespace decides the rest, one file at a time, by what it has by then
// (see namespace.Recovery): a path that two files claim, a file that is there already, one that was removed since.
//
// # What is durable
//
// Every file is one change of the namespace. There is no other state: a rebuild that was cut off is started again, and
// finds what is there. A disk that was away is added by another run. For files that kept their names, no order of disks, of
// runs, or of the files within a run makes a difference in the end. A file that was renamed between two of its contents
// gets the later name if that is free, and stays where it is otherwise.
//
// # What is not known
//
// Footers know a file's content, and its path when the piece was made. They do not know what was renamed or removed since,
// empty files and directories, attributes, quotas. Pieces of files that were removed may still be there, and such
// files come back.
//
// # Why by the manager
//
// Only the manager sees all disks, so only it can tell which content of a file is the newest that can be read. Nodes do
// what they do for an audit: they list pieces. No data is read and none is sent, but for the footers.
//
// # Bounds and goroutines
//
// Memory is two pages for each disk, and some hundred files under way. A goroutine for each disk reads ahead, one
// merges, some adopt, and the caller's reports. All have ended when Run returns.
package rebuild
