package accounts

import (
	"slices"

	"hemera/namespace/schema"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A change may charge many files: a file with its versions, or one that replaces another. Each charge alone may fit where
// all of them do not. So no charge is judged: a Judge gathers what each limit gains and loses, and when the change is
// complete, before it is stored, decides once.

// Judge gathers what one change charges. The zero value has gathered nothing. It belongs to one run of a change.
type Judge struct {
	gains       []gain
	op, subject string // of the last charge that a caller named, for errors
}

// gain is the growth of one account, or of the project of a directory, by the change.
type gain struct {
	quota.Account
	path  string // of the node
	delta hemera.QuotaAmount
}

// Promise is the promise of an open to its write: up to that no quota refuses the commit.
type Promise struct {
	Accounts []quota.Account
	Amount   hemera.QuotaAmount
}

// beyond returns what of an account's gain the promise does not cover. Each amount is covered as a whole or not at all.
func (p *Promise) beyond(a quota.Account, want hemera.QuotaAmount) hemera.QuotaAmount {
	if p == nil || !slices.Contains(p.Accounts, a) {
		return want
	}
	for _, d := range [...]struct {
		want     *int64
		promised int64
	}{{&want.Files, p.Amount.Files}, {&want.Bytes, p.Amount.Bytes}, {&want.Physical, p.Amount.Physical}} {
		if *d.want <= d.promised {
			*d.want = 0
		}
	}
	return want
}

// Claims adds to standings what writes under way have claimed. Of the change that commits one of them it leaves out the
// claim of that write, and returns it as a promise; nil if there is none.
type Claims func(standings []quota.Standing) ([]quota.Standing, *Promise)

// Gain is the growth that a change under judgement brings to an account, if any.
type Gain struct {
	quota.Account
	Amount hemera.QuotaAmount
}

// Hold has opens count what a change takes from before it is judged until it is visible: else a write that was opened from what was used
// before would be promised the same room. The returned function ends that.
type Hold func([]Gain) (release func())

// Named says for errors of the charges that follow which operation they belong to, and what it is about.
func (j *Judge) Named(op, subject string) {
	if j != nil {
		j.op, j.subject = op, subject
	}
}

// Reset forgets what was gathered: the change runs again.
func (j *Judge) Reset() { *j = Judge{gains: j.gains[:0]} }

// note adds to what an account gains. A nil Judge gathers nothing: what its ledger charges is not judged.
func (j *Judge) note(a quota.Account, dirs []*hemera.Entry, node int, delta hemera.QuotaAmount) {
	for i := range j.gains {
		if j.gains[i].Account == a {
			j.gains[i].delta = j.gains[i].delta.Add(delta)
			return
		}
	}
	j.gains = append(j.gains, gain{Account: a, path: pathTo(dirs, node), delta: delta})
}

// gain notes that what is in the last of dirs uses more by delta: every project above it, and at the nearest node
// the accounts, if there are any.
func (l Ledger) gain(dirs []*hemera.Entry, delta hemera.QuotaAmount, accounts ...schema.Account) error {
	if l.Judge == nil || !Limited(dirs) {
		return nil
	}
	for i, dir := range dirs {
		if dir.Quota {
			l.Judge.note(quota.Account{Node: dir.ID, Kind: hemera.QuotaProject}, dirs, i, delta)
		}
	}
	i, q, err := l.nearest(dirs)
	if err != nil || q == nil {
		return err
	}
	for _, a := range accounts {
		l.Judge.note(quota.Account{Node: dirs[i].ID, Kind: a.Kind, ID: a.ID}, dirs, i, delta)
	}
	return nil
}

// gainOf notes the gain of a file, times 1 or -1.
func (l Ledger) gainOf(dirs []*hemera.Entry, e *hemera.Entry, times int64) error {
	used := schema.FileUsage(e)
	if times < 0 {
		used = used.Negate()
	}
	return l.gain(dirs, used, schema.UserAccount(e.UID), schema.GroupAccount(e.GID))
}

// Decide judges the complete change: OverQuota if it takes more of a limit, and the limit would be exceeded. Claims and hold may be nil.
// A change that takes no more of a limit passes, also above the limit. The caller calls release, which may be nil, when the change is
// visible or has failed.
func (l Ledger) Decide(claims Claims, hold Hold) (release func(), err error) {
	if len(l.Judge.gains) == 0 {
		return nil, nil
	}
	var limits []quota.Standing
	var wants []hemera.QuotaAmount
	var gains []Gain
	for _, g := range l.Judge.gains {
		if g.delta.Files <= 0 && g.delta.Bytes <= 0 && g.delta.Physical <= 0 {
			continue
		}
		s, ok, err := l.standing(g.Account, g.path)
		if err != nil {
			return nil, err
		}
		if ok {
			// What is stored by now has the gain in it.
			s.Used = s.Used.Add(g.delta.Negate())
			limits, wants = append(limits, s), append(wants, g.delta)
			gains = append(gains, Gain{g.Account, hemera.QuotaAmount{Files: max(0, g.delta.Files), Bytes: max(0, g.delta.Bytes), Physical: max(0, g.delta.Physical)}})
		}
	}
	// Held before it is judged: of a claim and this change, the one that comes later sees the other.
	if hold != nil && len(gains) > 0 {
		release = hold(gains)
	}
	var promise *Promise
	if claims != nil {
		limits, promise = claims(limits)
	}
	for i, s := range limits {
		if err := within(l.Judge.op, l.Judge.subject, s, promise.beyond(s.Account, wants[i])); err != nil {
			return release, err
		}
	}
	return release, nil
}

// within turns a refusal of the quota rule into the error that says whose limit it is, and what can be done:
// OverQuota.
func within(op, subject string, limit quota.Standing, want hemera.QuotaAmount) error {
	d := quota.Decide([]quota.Standing{limit}, quota.Want{QuotaAmount: want})
	if d.Allowed {
		return nil
	}
	return errs.Wrap(errs.New(errs.OverQuota, "quota.Decide", "", "the quota of "+d.Whose+": "+d.Why).WithRemedy(d.Remedy), "namespace."+op, subject)
}
