package transfer

import (
	"context"
	"fmt"
	"time"

	"hemera"
	"hemera/errs"
)

// commit is the last step of a write: the request, and what is known of its fate.
type commit struct {
	head    *head
	request hemera.CommitRequest
	asked   time.Time // when the manager was asked first
	unsure  bool      // the manager may have committed without this node having heard of it
}

// run asks the manager until it answers or [CommitPatience] ends.
func (c *commit) run(ctx context.Context) error {
	host, file := c.head.host, c.head.cap
	deadline := time.Now().Add(host.patience())
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if err := c.tooLate(); err != nil {
			return err
		}
		err := c.ask(ctx)
		if err == nil {
			host.Counters.Commits.Add(1)
			return nil
		}
		// From the first lost answer on, no refusal is certain to mean that nothing was committed.
		c.unsure = c.unsure || errs.Undecided(err)
		if !errs.Undecided(err) || time.Now().Add(pause).After(deadline) {
			return errs.Wrap(err, "transfer.Commit", subject(file))
		}
		host.Log.Info("commit waits for the manager", "path", file.Path, "trace", file.Trace, "error", err)
		time.Sleep(pause)
	}
}

// ask is one attempt to commit. A manager in another process may not answer; in this one nothing is
// lost on the way, and asking again would wait for the same.
func (c *commit) ask(ctx context.Context) error {
	if !c.request.Permit.Local() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	return c.head.host.Control.Commit(ctx, c.request)
}

// askedAgain is how long after it was asked for a commit may be asked for again. The manager remembers for an
// hour that a new file was removed, so that a late request does not bring it back without its content.
const askedAgain = 30 * time.Minute

// tooLate refuses to ask again when so much time has gone by, perhaps in one moment: the process stood still.
func (c *commit) tooLate() error {
	now := time.Now()
	if c.asked.IsZero() {
		c.asked = now
	}
	// A machine that was suspended sees it on the wall clock only.
	if waited := max(now.Sub(c.asked), now.Round(0).Sub(c.asked.Round(0))); waited > askedAgain {
		return errs.New(errs.Conflict, "transfer.Commit", subject(c.head.cap), fmt.Sprintf("the manager was asked for it %s ago", waited.Round(time.Second)))
	}
	return nil
}
