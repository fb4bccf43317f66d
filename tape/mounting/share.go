package mounting

// Head is the first jobs of one user in a queue, in the order of asking or of priority.
type Head struct {
	UID  uint32
	Jobs []Job
}

// Job has the fields of a job that fairness needs.
type Job struct {
	Bytes    int64
	Priority int64
}

// Batch bounds what a session gets at once. FileCost is what a file costs besides its bytes, in bytes: the time for labels or a locate, at the
// rate of the drive.
type Batch struct {
	Files    int
	Bytes    int64 // the first job may exceed it, so that no job is too large
	FileCost int64
}

// Pick is a job that was picked: the index of its head and of the job in it.
type Pick struct{ Head, Job int }

// NextJobs picks jobs of a queue, fairly between users: of the jobs that are first of their users, those with the highest priority go first; of these the job of the user
// that was served least. Users who are served in turn get equal shares of the drive's time, within the cost of one job.
//
// served is what users were served so far, as the call before returned it; nil at first. A user who was not there begins as the one that was
// served least, so that nobody collects a claim by waiting with requests. Users without jobs are forgotten, which bounds it.
func NextJobs(served map[uint32]int64, heads []Head, batch Batch) (picks []Pick, next map[uint32]int64) {
	next = begin(served, heads)
	// The heads stay as they are; only places in them move.
	at := make([]int, len(heads)) // the next job of each head
	var bytes int64
	for len(picks) < batch.Files {
		// Users are few: looking at all of them for each job costs less than keeping them in order.
		best := -1
		for i := range heads {
			if at[i] < len(heads[i].Jobs) && (best < 0 || goesFirst(heads, at, next, i, best)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		job := heads[best].Jobs[at[best]]
		if bytes += job.Bytes; bytes > batch.Bytes && len(picks) > 0 {
			break
		}
		picks = append(picks, Pick{best, at[best]})
		at[best]++
		// A job counts when it is given, so that a user with failing jobs is not served without end.
		next[heads[best].UID] += job.Bytes + batch.FileCost
	}
	return picks, next
}

// goesFirst reports whether the next job of head i goes before that of head j.
func goesFirst(heads []Head, at []int, served map[uint32]int64, i, j int) bool {
	x, y := heads[i].Jobs[at[i]], heads[j].Jobs[at[j]]
	if x.Priority != y.Priority {
		return x.Priority > y.Priority
	}
	a, b := served[heads[i].UID], served[heads[j].UID]
	return a < b || a == b && heads[i].UID < heads[j].UID
}

// begin returns the service of each user with jobs, less the least of them: numbers stay small. A user without service
// begins with 0.
func begin(served map[uint32]int64, heads []Head) map[uint32]int64 {
	next := map[uint32]int64{}
	// Users who left do not hold the others' numbers down.
	least, known := int64(0), false
	for _, h := range heads {
		if n, is := served[h.UID]; is && (!known || n < least) {
			least, known = n, true
		}
	}
	for _, h := range heads {
		n, is := served[h.UID]
		if !is {
			n = least
		}
		next[h.UID] = n - least
	}
	return next
}
