// Package treewalk visits a tree of directories in order, and reads ahead while it does.
//
// A listing of a large tree spends its time waiting for pages of directories. A walk therefore has several pages on
// their way: the next page of the directory that it is in, and the first pages of the directories that come next.
// Everything that serves or searches trees needs this (the admin API's find, listings by prefix), so it stands below
// the doors and needs nothing but [hemera.Directories].
//
// Order: parents before their children, names in byte order, as one would list the tree by hand. A directory that
// cannot be listed is visited a second time with the error, and the walk continues after it.
//
// Consistency: a walk holds no lock and no snapshot between two pages, so it may take as long as its visitor. An
// entry that is renamed or created meanwhile is met once, not at all, or in both places.
//
// Memory: at most pageSize entries for each of the pageDepth deepest directories on the path, plus the pages that are
// on their way (at most 1+aheadMax for each of these directories). Directories further up are read again when the walk
// returns to them, so the depth of a tree does not matter.
//
// Concurrency: [Walk] visits in its caller's goroutine. Pages are read in goroutines, at most readersMax at a time, so
// that a walk leaves processors to those who write. They have ended when Walk returns. An [Options.Acquire] bounds
// the readers of many walks together.
package treewalk
