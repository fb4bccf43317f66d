package maint

import (
	"context"
	"fmt"
	"strings"

	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// ExplainForm lists the requests to convert that will reach the file at the path, and the reason why each waits. Only admins see the problems that a
// request had with other files.
func (ex *explainer) ExplainForm(ctx context.Context, who hemera.Identity, entry hemera.Entry, path string) (reasons []adminapi.Reason) {
	above, err := ex.base.begin(ctx, entry)
	if err != nil {
		return nil
	}
	for _, s := range ex.converter.statuses() {
		if _, due := lifecycle.Wanted(entry, s.Form); !due || !s.Ended.IsZero() {
			continue
		}
		// By the paths of now: both may have been moved since the request.
		_, root, err := ex.base.Files.Resolve(ctx, s.Root)
		if err != nil || root != path && !strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/") {
			continue
		}
		// A newer order has taken its place for this file.
		form, err := ex.converter.decides(ctx, entry, above, s.Form, s.ID)
		if err != nil {
			continue
		}
		text := fmt.Sprintf("request %d converts it to %s, and is %s", s.ID, form, s.Job.State)
		// The lock does not say whose it is: a repair may have it.
		if ex.base.mover.FileLocked(entry.ID) {
			text += "; this or another work on the file is under way"
		}
		if s.Job.Why != "" && who.Admin {
			text += ": " + s.Job.Why
		}
		reasons = append(reasons, adminapi.Reason{About: "form", Text: text, Remedy: "hemera convert ls shows the request, hemera convert stop ends it"})
	}
	return reasons
}
