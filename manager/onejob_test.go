package manager

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/rules/condition"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// A conversion that is in the way of nothing but itself: the list of requests, the jobs, the status, its conditions and the words about jobs and
// files say the same of it, also after a restart, and when it is stopped.
func TestAStalledConversionIsToldInOneWay(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		ctx := t.Context()
		r.write("/d/p/f", 100)
		r.write("/d/g", 200)
		id := r.convert("/d", 16)
		for pass, rest := range []time.Duration{time.Second, 20 * time.Second, 2 * time.Minute} {
			time.Sleep(rest)
			now := r.request(id)
			s, err := r.m.Status.Status(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Jobs) != 1 || s.Jobs[0] != now.Job || now.Job.State != "stalled" || now.Job.FilesLeft != 2 || now.Job.BytesLeft != 300 || now.Job.Progress() != 0 {
				t.Errorf("%d: the request %+v, the status %+v", pass, now, s.Jobs)
			}
			// The path is there once, in words of people.
			if why := now.Job.Why; strings.Count(why, "/d/") != 1 || strings.Contains(why, "fxid") || !strings.Contains(why, "16 needed") {
				t.Errorf("%d: %q", pass, why)
			}
			at := slices.IndexFunc(s.Conditions, func(c adminapi.Condition) bool { return c.Code == condition.JobStalled })
			if at < 0 || s.Conditions[at].Count != 2 || !strings.HasSuffix(s.Conditions[at].Text, now.Job.Why) || !strings.HasPrefix(s.Conditions[at].Text, now.Job.Title()+" is stalled") {
				t.Errorf("%d: %+v", pass, s.Conditions)
			}
			for kind, ref := range map[string]string{adminapi.WhyJobs: "", adminapi.WhyFile: "/d/g"} {
				out, err := r.m.Status.Why(ctx, hemera.SystemIdentity(), kind, ref)
				if err != nil || !slices.ContainsFunc(out.Reasons, func(w adminapi.Reason) bool {
					return strings.Contains(w.Text, "stalled") && strings.HasSuffix(w.Text, now.Job.Why) && w.Remedy == "hemera convert ls shows the request, hemera convert stop ends it"
				}) {
					t.Errorf("%d: why %s: %+v, %v", pass, kind, out, err)
				}
			}
		}
		if err := r.m.Conversions.StopConversion(ctx, id); err != nil {
			t.Fatal(err)
		}
		if now := r.request(id); now.Job.State != "stopped" || now.Job.Progress() != 0 || now.Job.FilesLeft != 2 || now.Job.Why != "stopped by an admin" {
			t.Errorf("stopped: %+v", now)
		}
	})
}

// An explanation of a name that no file has says so to programs; one of a file, or of a name that is being written, does not.
func TestAnExplanationOfNothing(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		r.write("/f", 10)
		r.mustOpen("/new", hemera.AccessCreate)
		for path, want := range map[string]bool{"/none": true, "/none/x": true, "/f": false, "/new": false, "/": false} {
			if out, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyFile, path); err != nil || out.Missing != want {
				t.Errorf("%s: %+v, %v", path, out, err)
			}
		}
	})
}
