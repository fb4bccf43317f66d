package tier

import (
	"cmp"
	"context"

	"hemera/tape/catalogue"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// jobList lists jobs.
type jobList struct{ env *env }

// TapeJobList implements adminapi.TapeAdmin.
func (t *jobList) TapeJobList(ctx context.Context, q adminapi.TapeJobQuery) ([]tapeapi.Work, error) {
	if q.Path != "" {
		return t.jobsOfFile(ctx, q.Path)
	}
	return t.jobs(ctx, q, true)
}

// jobs lists jobs of queues, of held files only if they are wanted.
func (t *jobList) jobs(ctx context.Context, q adminapi.TapeJobQuery, held bool) (out []tapeapi.Work, err error) {
	const most = 1000
	queues, err := t.env.catalogue.Queues(ctx)
	if err != nil {
		return nil, err
	}
	limit := min(cmp.Or(q.Limit, most), most)
	// Failed jobs are in queues of their own, so no job is read that is not
	// asked for.
	for _, queue := range queues {
		if q.Kind != 0 && queue.Kind != q.Kind || q.Queue != "" && queue.Name != q.Queue || q.Failed != queue.Failed || len(out) >= limit {
			continue
		}
		if _, _, is := catalogue.HeldBy(queue.Name); is && !held {
			continue
		}
		jobs, err := t.env.catalogue.Jobs(ctx, queue, limit-len(out), nil)
		if err != nil {
			return nil, err
		}
		out = append(out, t.described(ctx, jobs)...)
	}
	return out, nil
}

// described adds to jobs what people know their files by.
func (t *jobList) described(ctx context.Context, jobs []tapeapi.Job) (out []tapeapi.Work) {
	for _, j := range jobs {
		w, err := t.env.work(ctx, j)
		if err != nil {
			w.Job = j // its file is just going away
		}
		out = append(out, w.Work)
	}
	return out
}

// jobsOfFile lists all jobs of a file.
func (t *jobList) jobsOfFile(ctx context.Context, path string) ([]tapeapi.Work, error) {
	e, err := t.env.Tree.Stat(ctx, hemera.SystemIdentity(), path)
	if err != nil {
		return nil, err
	}
	jobs, err := t.env.catalogue.JobsOf(ctx, e.ID)
	return t.described(ctx, jobs), err
}

// TapeFiles lists a page of the files of a tape.
func (t *jobList) TapeFiles(ctx context.Context, vid hemera.VID, after uint64, dead bool) ([]tapeapi.File, error) {
	const page = 1000
	return t.env.catalogue.Files(ctx, vid, after, page, dead)
}
