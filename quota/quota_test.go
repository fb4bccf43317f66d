package quota_test

import (
	"math"
	"strings"
	"testing"
	"testing/quick"

	"hemera"
	"hemera/quota"
)

func TestDecide(t *testing.T) {
	amount := func(files, bytes, physical int64) hemera.QuotaAmount {
		return hemera.QuotaAmount{Files: files, Bytes: bytes, Physical: physical}
	}
	for _, c := range []struct {
		name         string
		limits, used hemera.QuotaAmount
		want         quota.Want
		why          string // in the refusal, "": allowed
	}{
		{"no limit", amount(0, 0, 0), amount(9, 9, 9), quota.Want{QuotaAmount: amount(9, 9, 9), Open: true}, ""},
		{"fits to the last", amount(10, 100, 200), amount(9, 60, 120), quota.Want{QuotaAmount: amount(1, 40, 80)}, ""},
		{"a file too many", amount(10, 0, 0), amount(10, 0, 0), quota.Want{QuotaAmount: amount(1, 0, 0)}, "10 of 10 files are used"},
		{"a byte too many", amount(0, 100, 0), amount(0, 60, 0), quota.Want{QuotaAmount: amount(1, 41, 0)}, "60 of 100 bytes are used, 41 more"},
		{"copies too many", amount(0, 0, 100), amount(0, 0, 60), quota.Want{QuotaAmount: amount(1, 20, 60)}, "60 of 100 physical bytes"},
		{"open, some left", amount(0, 100, 0), amount(0, 99, 0), quota.Want{Open: true}, ""},
		{"open, none left", amount(0, 100, 0), amount(0, 100, 0), quota.Want{Open: true}, "100 of 100 bytes are used"},
		{"no more bytes above the limit", amount(0, 100, 0), amount(0, 150, 0), quota.Want{}, ""},
		{"smaller above the limit", amount(0, 100, 0), amount(0, 150, 0), quota.Want{QuotaAmount: amount(0, -10, 0)}, ""},
		{"no overflow", amount(0, 100, 0), amount(0, -5, 0), quota.Want{QuotaAmount: amount(0, math.MaxInt64/4, 0)}, "-5 of 100"},
	} {
		s := quota.Standing{Account: quota.Account{Node: 7, Kind: hemera.QuotaUser, ID: 1000}, Path: "/exp", Limits: c.limits, Used: c.used}
		d := quota.Decide([]quota.Standing{{Limits: hemera.QuotaAmount{}}, s}, c.want)
		if d.Allowed != (c.why == "") || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v, want %q", c.name, d, c.why)
		}
		if !d.Allowed && (d.Whose != "uid 1000 in /exp" || !strings.Contains(d.Remedy, "/exp")) {
			t.Errorf("%s does not say whose limit: %+v", c.name, d)
		}
	}
}

// TestDecideIsNoMoreThanASum compares with the obvious rule where sizes are known and usage is sane.
func TestDecideIsNoMoreThanASum(t *testing.T) {
	same := func(limit, used, want uint16) bool {
		d := quota.Decide([]quota.Standing{{Limits: hemera.QuotaAmount{Bytes: int64(limit)}, Used: hemera.QuotaAmount{Bytes: int64(used)}}},
			quota.Want{QuotaAmount: hemera.QuotaAmount{Bytes: int64(want)}})
		return d.Allowed == (limit == 0 || want == 0 || int(used)+int(want) <= int(limit))
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}
