package replkv

import (
	"errors"
	"testing"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// TestAdmit has each entry that does not follow what a store has.
func TestAdmit(t *testing.T) {
	known := place{journal.Position{Seq: 4, Chain: 77, Epoch: 2}, true}
	started := place{Position: journal.Position{Seq: 4}}
	for _, c := range []struct {
		name string
		at   place
		e    journal.Entry
		want bool
	}{
		{"the next one", known, journal.Entry{Seq: 5, Epoch: 2, Prev: 77}, true},
		{"the first of a newer epoch", known, journal.Entry{Seq: 5, Epoch: 3, Prev: 77}, true},
		{"the next one after a start", started, journal.Entry{Seq: 5, Epoch: 9, Prev: 1}, true},
		{"once more", known, journal.Entry{Seq: 4, Epoch: 2, Prev: 77}, false},
		{"a gap", known, journal.Entry{Seq: 6, Epoch: 2, Prev: 77}, false},
		{"a gap after a start", started, journal.Entry{Seq: 6, Epoch: 2, Prev: 77}, false},
		{"an older epoch", known, journal.Entry{Seq: 5, Epoch: 1, Prev: 77}, false},
		{"behind another entry", known, journal.Entry{Seq: 5, Epoch: 2, Prev: 78}, false},
	} {
		err := c.at.admit(c.e)
		if c.want && err != nil || !c.want && (!errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := known.join(journal.Position{Seq: 4, Chain: 78}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("another end of the journal: %v", err)
	}
	if at, err := started.join(journal.Position{Seq: 4, Chain: 78}); err != nil || !at.known || at.Chain != 78 {
		t.Errorf("the end of the journal after a start: %+v, %v", at, err)
	}
}
