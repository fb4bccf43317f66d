package tapeconfig

import (
	"testing"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

func TestDueForVerification(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return now.Add(-time.Duration(days) * day) }
	tape := func(vid hemera.VID, change func(t *tapeapi.Tape)) tapeapi.Tape {
		t := tapeapi.Tape{VID: vid, State: tapeapi.Active, Files: 1, Labelled: ago(500)}
		change(&t)
		return t
	}
	old := tape("OLD", func(*tapeapi.Tape) {})
	for name, c := range map[string]struct {
		tapes []tapeapi.Tape
		every time.Duration
		want  string
	}{
		"none":                      {nil, day, ""},
		"never by default of zero":  {[]tapeapi.Tape{old}, 0, ""},
		"the oldest":                {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.Verified = ago(40) }), old}, 30 * day, "OLD"},
		"verified lately":           {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.Verified = ago(29) })}, 30 * day, ""},
		"labelled lately":           {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.Labelled = ago(29) })}, 30 * day, ""},
		"no label, an old record":   {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.Labelled, t.Made = time.Time{}, ago(31) })}, 30 * day, "A"},
		"no label, a new record":    {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.Labelled, t.Made = time.Time{}, ago(1) })}, 30 * day, ""},
		"nothing on it":             {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.Files = 0 })}, day, ""},
		"under way":                 {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.Verifying = &tapeapi.Task{} })}, day, ""},
		"not to be read":            {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.State = tapeapi.Disabled })}, day, ""},
		"in no library":             {[]tapeapi.Tape{tape("AWAY", func(*tapeapi.Tape) {})}, day, ""},
		"repacking tapes are read":  {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.State = tapeapi.Repacking })}, day, "A"},
		"exactly old enough is not": {[]tapeapi.Tape{tape("A", func(t *tapeapi.Tape) { t.Verified = ago(30) })}, 30 * day, ""},
		"the first of equals":       {[]tapeapi.Tape{old, tape("A", func(*tapeapi.Tape) {})}, day, "OLD"},
	} {
		if got := DueForVerification(c.tapes, now, c.every, func(vid hemera.VID) bool { return vid != "AWAY" }); got != hemera.VID(c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
