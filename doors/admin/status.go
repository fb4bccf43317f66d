package admin

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveStatus serves the health of the cluster and explanations. Why of a file is open to users; the service hides what
// they may not see. The other verbs need an admin, because they name files, disks and hosts.
func serveStatus(d *door) {
	unary(d, "Status", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) (status adminapi.ClusterStatus, err error) {
		s, err := part(d.Status, "status")
		if err != nil {
			return status, err
		}
		return s.Status(ctx)
	})
	unary(d, "Why", false, func(ctx context.Context, who hemera.Identity, r *adminapi.WhyRequest) (out adminapi.Explanation, err error) {
		if r.Kind != adminapi.WhyFile {
			if err := adminOnly(ctx, who); err != nil {
				return out, err
			}
		}
		s, err := part(d.Status, "status")
		if err != nil {
			return out, err
		}
		release, err := d.questions.Acquire(ctx, who)
		if err != nil {
			return out, err
		}
		defer release()
		return s.Why(ctx, who, r.Kind, r.Ref)
	})
	unary(d, "Impact", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.ImpactRequest) (sum adminapi.Impact, err error) {
		s, err := part(d.Status, "status")
		if err != nil {
			return sum, err
		}
		return s.Impact(ctx, r.Disks)
	})
}

// sendStatus sends the health and its conditions. Conditions with one code and subject become one sample with the sum of
// their counts, because two samples with the same labels make the scrape fail.
func sendStatus(ch chan<- prometheus.Metric, s adminapi.ClusterStatus) {
	mHealth.send(ch, map[adminapi.Severity]float64{adminapi.SeverityWarning: 1, adminapi.SeverityError: 2}[s.Health])
	mLost.send(ch, float64(s.Files.Lost))
	mUnreadable.send(ch, float64(s.Files.Unreadable))
	mIncomplete.send(ch, float64(s.Files.Incomplete))
	mDegraded.send(ch, float64(s.Files.Degraded))
	mFrail.send(ch, float64(s.Files.Frail))
	counts := map[adminapi.Condition]int64{}
	for _, c := range s.Conditions {
		counts[adminapi.Condition{Code: c.Code, Severity: c.Severity, Subject: c.Subject}] += c.Count
	}
	for c, n := range counts {
		mCondition.send(ch, float64(n), c.Code, string(c.Severity), c.Subject)
	}
}
