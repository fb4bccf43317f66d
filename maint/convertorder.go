package maint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The newest order about a file decides in which form it is stored ([lifecycle.Deciding]): a request, or the rules of a directory. An order
// asks right before each file, under the lock of the file. So a conversion that a newer order does not know of is either not begun, or the newer
// order finds the file locked and comes back to it.

// replaced is the error of a file that a newer order decides about.
type replaced struct{ by lifecycle.Order }

// Error says which order that is.
func (r replaced) Error() string {
	if r.by.Request == 0 {
		return "replaced by the lifecycle rules that were set later"
	}
	return fmt.Sprintf("replaced by request %d", r.by.Request)
}

// orders returns the orders that may decide about a file below the directories: all requests, and the rules that hold for the
// file now.
func (v *converter) orders(ctx context.Context, e hemera.Entry, above trail) (list []lifecycle.Order, err error) {
	for _, c := range v.requests() {
		list = append(list, lifecycle.Order{Request: c.ID, Root: c.Root, Given: c.Asked, Ended: c.Ended, Form: c.Form})
	}
	o := &v.base.Lifecycle
	if o.Trees == nil {
		return list, nil
	}
	var rules *lifecycle.Rules // read when they are needed
	for _, t := range o.Trees.RuleTrees() {
		if !slices.Contains(above, t.Dir) {
			continue
		}
		if rules == nil {
			attrs, _, err := o.Attributes(ctx, e.ID)
			if err != nil {
				return nil, err
			}
			in := lifecycle.Of(attrs)
			rules = &in
		}
		if form, holds := rules.Holds(e, t.Since, v.base.Now()); holds {
			list = append(list, lifecycle.Order{Root: t.Dir, Given: t.Changed, Form: form})
		}
	}
	return list, nil
}

// decides returns the parts of a form that the request still decides about for a file; request 0 is the rules. It fails with [replaced] if
// newer orders decide about all that the file does not have of it.
func (v *converter) decides(ctx context.Context, e hemera.Entry, above trail, form hemera.Form, request uint64) (hemera.Form, error) {
	list, err := v.orders(ctx, e, above)
	if err != nil {
		return form, err
	}
	left, by := lifecycle.Left(e, above, form, request, list)
	if _, due := lifecycle.Wanted(e, left); left != form && !due {
		return left, replaced{by}
	}
	return left, nil
}

// supersede ends the requests that have nothing left to do, as a newer one is about all of their files.
func (v *converter) supersede(ctx context.Context, requests []adminapi.Conversion) error {
	for i, c := range requests {
		// The newest has nothing to be replaced by.
		if !c.Ended.IsZero() || i == len(requests)-1 {
			continue
		}
		root, _, err := v.base.Files.Resolve(ctx, c.Root)
		if errors.Is(err, errs.NotFound) {
			continue // the job says so
		}
		if err != nil {
			return err
		}
		above, err := v.base.begin(ctx, root)
		if err != nil {
			return err
		}
		var list []lifecycle.Order
		for _, other := range requests {
			list = append(list, lifecycle.Order{Request: other.ID, Root: other.Root, Form: other.Form})
		}
		if left, by := lifecycle.Left(root, above, c.Form, c.ID, list); left.Zero() {
			if err := v.end(ctx, v.jobOf(c), adminapi.JobReplaced+adminapi.JobState(strconv.FormatUint(by.Request, 10)), replaced{by}.Error()); err != nil {
				return err
			}
		}
	}
	return nil
}
