package doctor

import (
	"cmp"
	"slices"
)

// Diagnose returns the report about a snapshot. Findings are sorted by severity, then in the order of [Catalogue], then
// by subject.
func Diagnose(s *Snapshot) Report {
	r := Report{Levels: levels(s), Findings: []Finding{}, Unseen: s.Unseen}
	r.Narrow = narrowest(s, r.Levels)
	for _, rule := range []func(*Snapshot) []Finding{disks, equals, bus, filesystems, processor, numa, links, paths, limits, cluster} {
		r.Findings = append(r.Findings, rule(s)...)
	}
	// A rule sets only the id: the catalogue has the rest.
	order := map[string]int{}
	for i, k := range Catalogue() {
		order[k.ID] = i
		for j := range r.Findings {
			if r.Findings[j].ID == k.ID {
				r.Findings[j].Level = k.Level
			}
		}
	}
	// With equal severity, the hardware precedes the levels above it.
	weight := map[Severity]int{Problem: 0, Risk: 1, Hint: 2}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(weight[a.Severity], weight[b.Severity]), cmp.Compare(order[a.ID], order[b.ID]), cmp.Compare(a.Subject, b.Subject))
	})
	return r
}
