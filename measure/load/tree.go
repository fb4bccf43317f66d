package load

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera/words/errs"
)

// cleanFor bounds the removal after an interruption.
const cleanFor = 5 * time.Minute

// tree has the names that a group made. Only those are removed. It is safe for concurrent use.
type tree struct {
	mu    sync.Mutex
	dirs  map[string]bool // not removed yet
	files map[string]bool // as well
}

// file records a file before it is made, because a failed open may have made it.
func (t *tree) file(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		t.files = map[string]bool{}
	}
	t.files[name] = true
}

// take returns the names of the files, and forgets them.
func (t *tree) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Sorted, so that a repeated run does the same.
	names := make([]string, 0, len(t.files))
	for name := range t.files {
		names = append(names, name)
	}
	t.files = nil
	slices.Sort(names)
	return names
}

// mkdir makes a new directory, and records it.
func (t *tree) mkdir(ctx context.Context, at Target, name string) error {
	if err := at.Mkdir(ctx, name); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dirs == nil {
		t.dirs = map[string]bool{}
	}
	t.dirs[name] = true
	return nil
}

// rmdir removes a directory that mkdir made, and forgets it.
func (t *tree) rmdir(ctx context.Context, at Target, name string) error {
	if err := at.Rmdir(ctx, name); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.dirs, name)
	return nil
}

// remove removes a recorded file, and forgets it.
func (t *tree) remove(ctx context.Context, at Target, name string) error {
	if err := at.Remove(ctx, name); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.files, name)
	return nil
}

// removeFiles removes the files made so far, several at once. Missing files are no error.
func (t *tree) removeFiles(ctx context.Context, at []Target) error {
	// A name that is not removed is recorded again for a second attempt.
	names := t.take()
	// One error for each target.
	failed := make([]error, len(at))
	var next atomic.Int64
	var group sync.WaitGroup
	for i, target := range at {
		group.Go(func() {
			for n := next.Add(1); int(n) <= len(names); n = next.Add(1) {
				if err := target.Remove(ctx, names[n-1]); err != nil && !errors.Is(err, errs.NotFound) {
					t.file(names[n-1]) // for another attempt
					failed[i] = err
				}
			}
		})
	}
	group.Wait()
	return errors.Join(failed...)
}

// removeAll removes everything that was made, also when ctx has ended. An error names what remains.
func (t *tree) removeAll(ctx context.Context, at []Target) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanFor)
	defer cancel()
	if len(at) == 0 {
		return nil
	}
	err := t.removeFiles(ctx, at)
	// A directory that is not empty has files of others: it remains, and so do those above it.
	t.mu.Lock()
	dirs := slices.Sorted(maps.Keys(t.dirs)) // parents before children
	t.mu.Unlock()
	for _, dir := range slices.Backward(dirs) {
		if err != nil {
			break
		}
		err = at[0].Rmdir(ctx, dir)
	}
	if err != nil {
		return errs.Wrap(err, "load.Clean", dirs[0])
	}
	return nil
}

// dirOf returns the directory of a name.
func dirOf(name string) string { return path.Dir(name) }
