package accounts

import (
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

// Decide judges the complete change: OverQuota if it takes more of a limit, and the limit would be exceeded beside the claims of others.
// A change that takes no more of a limit passes, also above the limit. The caller ends what is returned when the change is visible or
// has failed, also after an error.
func (l Ledger) Decide(claims *Claims, s Settlement) (Holding, error) {
	if len(l.Judge.gains) == 0 {
		return Holding{}, nil
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
			return Holding{}, err
		}
		if ok {
			// What is stored by now has the gain in it.
			s.Used = s.Used.Add(g.delta.Negate())
			limits, wants = append(limits, s), append(wants, g.delta)
			gains = append(gains, Gain{g.Account, hemera.QuotaAmount{Files: max(0, g.delta.Files), Bytes: max(0, g.delta.Bytes), Physical: max(0, g.delta.Physical)}})
		}
	}
	// A commit ends its claim also where it takes nothing more.
	if len(limits) == 0 && s.Claim == 0 {
		return Holding{}, nil
	}
	// The claim of a write counts already. All else is held before it is judged: of a claim and this change, the later one sees the other.
	var holding Holding
	if s.Claim == 0 {
		holding = claims.hold(gains)
	}
	limits, promise := claims.settle(s, limits)
	for i, s := range limits {
		if err := within(l.Judge.op, l.Judge.subject, s, promise.beyond(s.Account, wants[i])); err != nil {
			return holding, err
		}
	}
	return holding, nil
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
