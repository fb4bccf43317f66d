package tier

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"hemera/tape/catalogue"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// Files that no pool takes are held by the namespace (tape/catalogue,
// held.go), in queues that are named after their storage class. A change of
// the configuration is what helps them: then all of them are looked at
// again, in pages. What is left to do is in memory alone. A manager that
// starts looks at all, and so forgets none.

// heldOf adds up what is held, by class, with the reason as it is now. What
// is queued in a moment needs nobody, and is left out.
func heldOf(config tapeconfig.Config, f facts) (out []adminapi.TapeHeld) {
	// A queue has a sum for each user, and people care for the class. Those
	// of unknown classes and of large files are apart, as another command
	// helps each.
	sums := map[string]*adminapi.TapeHeld{} // by queue
	for _, q := range f.queues {
		class, size, held := catalogue.HeldBy(q.Name)
		if !held || !q.Failed {
			continue
		}
		sum := sums[q.Name]
		if sum == nil {
			sum = &adminapi.TapeHeld{Class: class, TooLarge: size}
			sums[q.Name] = sum
		}
		sum.Files, sum.Bytes = sum.Files+q.Files, sum.Bytes+q.Bytes
	}
	// The reason that was stored may be older than the last change.
	for _, sum := range sums {
		sum.Why, sum.Command = keeps(config, sum.Class, sum.TooLarge)
		if sum.Why != "" {
			out = append(out, *sum)
		}
	}
	slices.SortFunc(out, func(a, b adminapi.TapeHeld) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Why, b.Why))
	})
	return out
}

// keeps says what keeps the files of a class from tape, and the command
// that helps; "" if nothing does.
func keeps(config tapeconfig.Config, class string, size bool) (why, command string) {
	// Of large files too: their class may be gone meanwhile.
	if _, err := config.Resolve(class, false); err != nil {
		return errs.Reason(err, class), typed(errs.RemedyOf(err))
	}
	// How large the files are is not in their sum. That some are held says
	// that the limit is too low for them.
	organisation := config.Classes[class].Organisation
	most := int64(config.Organisations[organisation].MaxFileSize)
	if !size || most == 0 {
		return "", ""
	}
	return fmt.Sprintf("organisation %s takes no files of more than %d bytes", organisation, most),
		"hemera tape organisation set " + organisation + " maxFileSize=SIZE"
}

// whyHeld says of a job that holds its file what keeps it, and what can be
// typed; "" of other jobs.
func whyHeld(config tapeconfig.Config, j *tapeapi.Job) string {
	// Its own error is from the last look at it, which may be seconds old.
	class, size, held := catalogue.HeldBy(j.Queue)
	if !held {
		return ""
	}
	why, command := keeps(config, class, size)
	if why == "" {
		return "it is queued for tape within seconds"
	}
	return fmt.Sprintf("no pool takes it: %s (%s, or archive it in another class: hemera tape archive --class CLASS PATH); it is queued by itself then", why, command)
}

// releasing queues what is held. One goroutine uses it.
type releasing struct {
	env   *env
	left  []catalogue.Queue // with files that still have to be looked at
	after []byte            // the last of the first one that was
	seen  uint64            // the change of the configuration for which all were
	again bool              // once more
}

// releaseTime bounds a turn, as mounts of lost servers wait for it.
const releaseTime = 2 * time.Second

// release queues files that pools take now.
func (t *releasing) release(ctx context.Context) error {
	// A turn that ended in the middle is gone on with first.
	if len(t.left) == 0 {
		if err := t.findHeld(ctx); err != nil {
			return err
		}
	}
	// An error leaves the page for the next turn: looked at twice is the same
	// as once.
	some, end := false, t.env.Now().Add(releaseTime)
	for len(t.left) > 0 && t.env.Now().Before(end) {
		n, next, err := t.env.catalogue.ReleaseHeld(ctx, t.left[0], t.after)
		if err != nil {
			return err
		}
		some = some || n > 0
		if t.after = next; next == nil {
			t.left = t.left[1:]
		}
	}
	// Once for all pages: drives look at the sums, not at files.
	if some {
		t.env.wake.ring()
	}
	return nil
}

// findHeld lists the queues to look at: all after a change, else those
// whose class can be used.
func (t *releasing) findHeld(ctx context.Context) error {
	queues, err := t.env.catalogue.Queues(ctx)
	if err != nil {
		return err
	}
	// A commit that read the configuration before the change may be stored
	// after the list was read. So all are looked at once more.
	now := t.env.catalogue.Settings()
	changed := now.Change+1 != t.seen
	all := changed || t.again
	t.seen, t.again = now.Change+1, changed
	// After a change also those that stay: their reason may be another one.
	for _, q := range queues {
		class, size, held := catalogue.HeldBy(q.Name)
		if !held || !q.Failed {
			continue
		}
		if why, _ := keeps(now.Config, class, size); all || !size && why == "" {
			t.left = append(t.left, q)
		}
	}
	return nil
}
