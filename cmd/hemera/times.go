package main

import "time"

// completionTimeout is how long a shell waits for words from the cluster, unless env.Completion says otherwise.
const completionTimeout = 2 * time.Second

// unix is seconds since 1970, and 0 for no time.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// since is the seconds from t to now, and 0 for no time.
func since(now, t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return now.Sub(t).Seconds()
}

// ago is since, or nothing where that is not known: zero would be a moment ago.
func ago(now, t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return since(now, t)
}

// stamp is a time for machines and people alike, in UTC.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
