package hemera

import "sync/atomic"

// Views has the newest [View]. One writer replaces it, and any goroutine reads it without a lock; a reader that wants two facts of
// one moment reads once. The zero value has none.
type Views struct{ newest atomic.Pointer[published] }

// published is a view with the event of its end.
type published struct {
	view     *View
	replaced chan struct{} // closed when there is a newer one
}

// Publish replaces the newest view. It must not be changed from then on.
func (v *Views) Publish(view *View) {
	old := v.newest.Swap(&published{view, make(chan struct{})})
	if old != nil {
		close(old.replaced)
	}
}

// Newest returns the newest view, nil before the first one.
func (v *Views) Newest() *View {
	p := v.newest.Load()
	if p == nil {
		return nil
	}
	return p.view
}

// Watch returns the newest view, and a channel that is closed when another one has replaced it. It must not be called before the first
// one was published.
func (v *Views) Watch() (view *View, replaced <-chan struct{}) {
	p := v.newest.Load()
	return p.view, p.replaced
}
