package session

import (
	"context"
	"sync/atomic"

	"hemera/platform/contain"
	"hemera/words/tapeapi"
)

// reportMax bounds the results of one report of a recall session.
const reportMax = 500

// reporter tells the journal what the writers of a recall session did. While a report is under way results gather for the next one, so a slow
// journal gets few large ones and a quick client does not wait.
type reporter struct {
	journal              Journal
	panics               *contain.Panics
	in                   chan result             // from all writers
	finished             chan struct{}           // closed when all is told
	err                  error                   // of the journal; read it behind finished
	stop                 context.CancelCauseFunc // of the session, when the journal fails
	files, bytes, failed atomic.Int64
}

// result is a job that is done, or failed if failure is set.
type result struct {
	job     tapeapi.Work
	failure *tapeapi.Failure
}

// run takes results until the channel is closed. After an error of the journal it tells nothing more.
func (r *reporter) run(ctx context.Context) {
	defer close(r.finished)
	for first := range r.in {
		report := tapeapi.Results{}
		r.count(first, &report)
		for more := true; more && len(report.Done)+len(report.Failed) < reportMax; {
			select {
			case next, ok := <-r.in:
				if more = ok; ok {
					r.count(next, &report)
				}
				// Nothing else is ready: a client may wait for this one.
			default:
				more = false
			}
		}
		// Writers must not wait for a journal that is gone.
		if r.err != nil {
			continue
		}
		if r.err = r.panics.Do("session.Report", "", func() error { return r.journal.Report(ctx, report) }); r.err != nil {
			r.stop(r.err)
		}
	}
}

// count adds a result to a report and to the figures.
func (r *reporter) count(next result, report *tapeapi.Results) {
	if next.failure != nil {
		r.failed.Add(1)
		report.Failed = append(report.Failed, *next.failure)
		return
	}
	r.files.Add(1)
	r.bytes.Add(next.job.Size)
	report.Done = append(report.Done, next.job.JobKey)
}

// figures brings the counts into a session's figures.
func (r *reporter) figures(s *tapeapi.Session) {
	s.Files, s.Bytes, s.Failed = r.files.Load(), r.bytes.Load(), r.failed.Load()
}
