package manager

import (
	"errors"
	"testing"

	"hemera/namespace/accounts"
	"hemera/rules/quota"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A write that is opened from what was used before a rename is not promised what the rename takes, whenever that becomes visible.
func TestAClaimBesideAChangeThatIsUnderWay(t *testing.T) {
	var c claims
	project := quota.Account{Node: 5, Kind: hemera.QuotaProject}
	used := func(bytes int64) []quota.Standing {
		return []quota.Standing{{Account: project, Limits: hemera.QuotaAmount{Bytes: 10}, Used: hemera.QuotaAmount{Bytes: bytes}}}
	}
	open := func(used []quota.Standing, since hemera.QuotaAmount) error {
		return c.take(&claim{standings: used, want: quota.Want{QuotaAmount: hemera.QuotaAmount{Bytes: 6}}, since: since}, nil)
	}
	before := c.returned.load()
	end := c.hold([]accounts.Gain{{Account: project, Amount: hemera.QuotaAmount{Bytes: 5}}})
	if limits, _ := c.left(used(0)); limits[0].Used.Bytes != 0 {
		t.Errorf("another change, which sees this one in what is stored, counts it once more: %+v", limits)
	}
	wantKind(t, open(used(0), before), errs.OverQuota)
	end()
	if err := open(used(0), before); !errors.Is(err, errOutdated) {
		t.Errorf("read before the change was visible: %v", err)
	}
	wantKind(t, open(used(5), c.returned.load()), errs.OverQuota)
	if err := open(used(4), c.returned.load()); err != nil || len(c.changing) != 0 {
		t.Errorf("%v, %+v", err, c.changing)
	}
}
