package etcdjournal

import (
	"errors"
	"testing"

	"hemera/platform/kv/journal"
	"hemera/words/errs"
)

// FuzzParseHead: a value of etcd makes an error or a position that is formatted to the same.
func FuzzParseHead(f *testing.F) {
	f.Add(formatHead(journal.Position{Seq: 1, Chain: 2, Epoch: 3}))
	f.Add("1 2")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseHead(text)
		if err != nil {
			return
		}
		if again, err := parseHead(formatHead(p)); err != nil || again != p {
			t.Errorf("%q: %+v, then %+v, %v", text, p, again, err)
		}
	})
}

// TestJudge has each reason for which the condition of an append does not hold.
func TestJudge(t *testing.T) {
	own := journal.Entry{Seq: 5, Epoch: 2, Prev: 77, Batch: []byte("own")}
	mine := own.Position()
	before := journal.Position{Seq: 4, Chain: 77, Epoch: 2}
	encoded := func(e journal.Entry) []byte {
		b, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	theirs := journal.Entry{Seq: 5, Epoch: 3, Prev: 77, Batch: []byte("own")}
	for _, c := range []struct {
		name string
		f    found
		want error
	}{
		{"the answer was lost", found{2, mine, encoded(own)}, nil},
		{"the answer was lost, then a newer epoch began", found{3, mine, encoded(own)}, nil},
		{"the answer was lost, and others follow", found{3, journal.Position{Seq: 9, Chain: 1, Epoch: 3}, encoded(own)}, nil},
		{"the answer was lost, and the entry was trimmed", found{2, mine, nil}, nil},
		{"another has the number", found{3, theirs.Position(), encoded(theirs)}, errs.Fenced},
		{"a newer epoch has begun", found{3, before, nil}, errs.Fenced},
		{"the entry before is missing", found{2, journal.Position{Seq: 3, Chain: 1, Epoch: 2}, nil}, errs.Conflict},
		{"the entry before is another one", found{2, journal.Position{Seq: 4, Chain: 78, Epoch: 2}, nil}, errs.Corrupt},
		{"trimmed beyond it", found{2, journal.Position{Seq: 9, Chain: 1, Epoch: 2}, nil}, errs.Corrupt},
		{"nothing is wrong", found{2, before, nil}, errs.Internal},
		{"a damaged entry", found{2, mine, []byte("damaged")}, errs.Corrupt},
	} {
		if err := judge(mine, own.Prev, c.f); c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
