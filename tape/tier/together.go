package tier

import "golang.org/x/sync/errgroup"

// atOnce bounds the changes of one call that are under way: as many as a
// group commit takes with one sync, and few beside what others ask for.
const atOnce = 64

// together does something for each of n things, several at once, and
// returns the first error. Each is a change of its own that waits for a
// sync; one after the other, a request of a thousand files takes as many
// syncs, and together a few dozen.
func (t *parts) together(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(t.Panics.Func("tier.Change", "", func() error { return do(i) }))
	}
	return group.Wait()
}
