package tapeconfig

import (
	"testing"
	"time"

	"hemera/words/hemera"
)

func TestDueForVerification(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return now.Add(-time.Duration(days) * day) }
	tape := func(vid string, change func(t *hemera.Tape)) hemera.Tape {
		t := hemera.Tape{VID: vid, State: hemera.TapeActive, Files: 1, Labelled: ago(500)}
		change(&t)
		return t
	}
	old := tape("OLD", func(*hemera.Tape) {})
	for name, c := range map[string]struct {
		tapes []hemera.Tape
		every time.Duration
		want  string
	}{
		"none":                      {nil, day, ""},
		"never by default of zero":  {[]hemera.Tape{old}, 0, ""},
		"the oldest":                {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.Verified = ago(40) }), old}, 30 * day, "OLD"},
		"verified lately":           {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.Verified = ago(29) })}, 30 * day, ""},
		"labelled lately":           {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.Labelled = ago(29) })}, 30 * day, ""},
		"no label, an old record":   {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.Labelled, t.Made = time.Time{}, ago(31) })}, 30 * day, "A"},
		"no label, a new record":    {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.Labelled, t.Made = time.Time{}, ago(1) })}, 30 * day, ""},
		"nothing on it":             {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.Files = 0 })}, day, ""},
		"under way":                 {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.Verifying = &hemera.TapeTask{} })}, day, ""},
		"not to be read":            {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.State = hemera.TapeDisabled })}, day, ""},
		"in no library":             {[]hemera.Tape{tape("AWAY", func(*hemera.Tape) {})}, day, ""},
		"repacking tapes are read":  {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.State = hemera.TapeRepacking })}, day, "A"},
		"exactly old enough is not": {[]hemera.Tape{tape("A", func(t *hemera.Tape) { t.Verified = ago(30) })}, 30 * day, ""},
		"the first of equals":       {[]hemera.Tape{old, tape("A", func(*hemera.Tape) {})}, day, "OLD"},
	} {
		if got := DueForVerification(c.tapes, now, c.every, func(vid string) bool { return vid != "AWAY" }); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
