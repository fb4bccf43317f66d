package transfer

import (
	"context"
	"fmt"
	"time"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// commit is the last step of a write: the request, and what is known of its fate.
type commit struct {
	head    *head
	request hemera.CommitRequest
	asked   time.Time // when the manager was asked first
	unsure  bool      // the manager may have committed without this node having heard of it
	kept    bool      // the footers say that it is kept: see mark
}

// run asks the manager until it answers or [CommitPatience] ends.
func (c *commit) run(ctx context.Context) error {
	node, file := c.head.node, c.head.cap
	deadline := time.Now().Add(c.head.writes.patience())
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if err := c.tooLate(); err != nil {
			return err
		}
		err := c.ask(ctx)
		if err == nil {
			node.Counters.Commits.Add(1)
			return nil
		}
		// From the first lost answer on, no refusal is certain to mean that nothing was committed.
		c.unsure = c.unsure || errs.Undecided(err)
		if !errs.Undecided(err) || time.Now().Add(pause).After(deadline) {
			return errs.Wrap(err, "transfer.Commit", piece.Subject(file))
		}
		node.Log.Info("commit waits for the manager", "path", file.Path, "trace", file.Trace, "error", err)
		time.Sleep(pause)
	}
}

// ask makes one attempt to commit. A manager in another process may not answer; in this one nothing is lost on the way,
// and asking again would wait for the same.
func (c *commit) ask(ctx context.Context) error {
	if !c.request.Permit.Local() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, piece.CallTimeout)
		defer cancel()
	}
	return c.head.writes.Control.Commit(ctx, c.request)
}

// askedAgain is the time after the first request for a commit in which it may be repeated. The manager remembers for an
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
		return errs.New(errs.Conflict, "transfer.Commit", piece.Subject(c.head.cap), fmt.Sprintf("the manager was asked for it %s ago", waited.Round(time.Second)))
	}
	return nil
}

// mayBeCommitted says of a refused commit that one asked for before may have happened, or happen yet: the request
// whose answer was lost may be anywhere on its way. The client must not take the refusal for a no.
func mayBeCommitted(err error, subject string) error {
	e := &errs.Error{Kind: errs.Unavailable, Op: "transfer.Close", Subject: subject,
		Text: "the commit was refused, but the answer to one before was lost, which may have happened", Cause: err}
	return e.WithRemedy("look whether the file has the content that was written, and write it again if not")
}

// splitXattrs returns the attributes that a commit sets, and those that it removes, which are nil in changes.
func splitXattrs(changes map[string][]byte) (set map[string][]byte, removed []string) {
	for name, value := range changes {
		if value == nil {
			removed = append(removed, name)
			continue
		}
		if set == nil {
			set = map[string][]byte{}
		}
		set[name] = value
	}
	return set, removed
}

// refusal returns the reason for which a commit was refused, with a remedy.
func refusal(err error, c *hemera.Capability) error {
	remedy := "commit it again later, or remove it with `hemera open drop`"
	switch {
	case errs.KindOf(err) == errs.OverQuota:
		remedy = "free room or have the limit raised, and commit it again; or remove it with `hemera open drop`"
	case errs.KindOf(err) == errs.Conflict && c.Access == hemera.AccessCreate:
		remedy = "if its name was taken, move that file away and commit it again; or remove it with `hemera open drop`"
	case errs.KindOf(err) == errs.Conflict:
		remedy = "the file has changed since: remove the update with `hemera open drop`, and make it again"
	}
	e := &errs.Error{Kind: errs.KindOf(err), Op: "transfer.Commit", Subject: piece.Subject(c), Text: "it is kept as before", Cause: err}
	return e.WithRemedy(remedy)
}
