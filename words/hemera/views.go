package hemera

import "sync/atomic"

// Views has the newest [View]. One writer replaces it, and any goroutine reads it without a lock; a reader that wants two facts of
// one moment reads once. The zero value has none.
type Views struct{ newest atomic.Pointer[View] }

// Publish replaces the newest view. It must not be changed from then on.
func (v *Views) Publish(view *View) { v.newest.Store(view) }

// Newest returns the newest view, nil before the first one.
func (v *Views) Newest() *View { return v.newest.Load() }
