package tier

import (
	"context"
	"time"

	"hemera/tape/mounting"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// outlook says what recalls wait for, as of one moment. A client asks for
// thousands of files at once, and all that wait for one tape wait for the
// same: so the picture is made once for an answer, when the first file
// needs it, and each queue is explained once. One goroutine uses it.
type outlook struct {
	reporter *reporter
	facts    facts
	board    *mounting.Board // nil until it is needed
	said     map[mounting.Key]saying
	shelf    *Shelf // nil until it is needed
}

// saying is the last log line about a queue.
type saying struct {
	why string
	at  time.Time // when it may begin; zero: nobody knows
}

// look makes the picture.
func (o *outlook) look(ctx context.Context) error {
	f, err := o.reporter.inventory.facts(ctx)
	if err != nil {
		return err
	}
	o.facts, o.board, o.said = f, mounting.New(o.reporter.mounts.look(f)), map[mounting.Key]saying{}
	return nil
}

// whyRecall says what the recall of a file waits for, and about when it
// may be done. It goes on by itself if waits is set, whatever went wrong before.
func (o *outlook) whyRecall(ctx context.Context, e *hemera.Entry) (why string, at time.Time, waits bool) {
	if o.board == nil && o.look(ctx) != nil {
		return "", time.Time{}, false
	}
	for _, c := range e.Tape {
		j, err := o.reporter.env.catalogue.Job(ctx, tapeapi.JobKey{File: e.ID, Kind: tapeapi.Recall, Copy: c.Number})
		if err != nil || j == nil {
			continue
		}
		if why := o.alone(j); why != "" {
			return why, time.Time{}, !j.Failed
		}
		s := o.of(keyOf(j.Kind, j.Queue))
		return s.why, s.at, !j.Failed
	}
	return "", time.Time{}, false
}

// alone says what keeps a job apart from its queue.
func (o *outlook) alone(j *tapeapi.Job) string {
	return o.reporter.ofJob(o.facts, j)
}

// of explains a queue.
func (o *outlook) of(key mounting.Key) saying {
	s, ok := o.said[key]
	if !ok {
		s.why, s.at = explained(o.board, key)
		o.said[key] = s
	}
	return s
}

// silent says why no tape gives a file now, "" if one does.
func (o *outlook) silent(ctx context.Context, e *hemera.Entry) string {
	if o.shelf == nil {
		shelf, err := o.reporter.disks.Shelf(ctx)
		if err != nil {
			return ""
		}
		o.shelf = shelf
	}
	return o.shelf.Silent(e)
}

// Standing says in words what a read does of a file that is on tape only.
func (t *reporter) Standing(ctx context.Context, e *hemera.Entry) string {
	shelf, err := t.disks.Shelf(ctx)
	if err != nil {
		return "on tape only; its tapes cannot be looked up: " + err.Error()
	}
	if why := shelf.Silent(e); why != "" {
		return "on tape only, and cannot be read: " + why
	}
	return "on tape only; a read brings it to disk"
}

// CanRecall fails with IO if no tape of a file that is on tape only can be read now, as far as is known without a look at the tape.
func (t *reporter) CanRecall(ctx context.Context, e *hemera.Entry) error {
	shelf, err := t.disks.Shelf(ctx)
	if err != nil {
		return err
	}
	if why := shelf.Silent(e); why != "" {
		_, remedy := shelf.Trouble(e)
		return errs.New(errs.IO, "tier.Recall", "fxid:"+e.ID.Hex(), "the file is on tape only, and cannot be read: "+why).WithRemedy(remedy)
	}
	return nil
}
