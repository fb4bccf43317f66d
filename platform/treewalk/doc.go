// Package treewalk visits a tree of directories in order, and reads ahead.
//
// A listing of a large tree spends its time waiting for pages of directories. So a walk reads several pages at a time:
// the next page of its current directory, and the first pages of the directories that come next. The admin API's find and
// listings by prefix use it, so it stands below the doors and needs nothing but [hemera.Directories].
//
// Order: parents before their children, names in byte order. A directory that cannot be listed is visited a second time
// with the error, and the walk continues after it.
//
// Consistency: a walk holds no lock and no snapshot between two pages, so it may take as long as its visitor. An entry
// that is renamed or created during the walk may be visited once, not at all, or in both places.
//
// Memory: at most pageSize entries for each of the pageDepth deepest directories on the path, plus the pages that are
// being read (at most 1+aheadMax for each of these directories). Directories further up are read again when the walk
// returns to them, so the depth of a tree does not matter.
//
// Concurrency: [Walk] visits in its caller's goroutine. Pages are read in goroutines, at most readersMax at a time, so
// that a walk leaves processors to writers. They have ended when Walk returns. An [Options.Acquire] bounds the readers of
// many walks together.
package treewalk
