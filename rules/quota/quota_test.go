package quota_test

import (
	"math"
	"strings"
	"testing"
	"testing/quick"

	"hemera/rules/quota"
	"hemera/words/hemera"
)

func TestDecide(t *testing.T) {
	amount := func(files, bytes, physical int64) hemera.QuotaAmount {
		return hemera.QuotaAmount{Files: files, Bytes: bytes, Physical: physical}
	}
	for _, c := range []struct {
		name         string
		limits, used hemera.QuotaAmount
		want         quota.Want
		why          string // text in the refusal, "" if allowed
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

func TestTightest(t *testing.T) {
	standing := func(limitBytes, usedBytes, limitPhysical, usedPhysical int64) quota.Standing {
		return quota.Standing{Limits: hemera.QuotaAmount{Files: 1, Bytes: limitBytes, Physical: limitPhysical},
			Used: hemera.QuotaAmount{Files: 9, Bytes: usedBytes, Physical: usedPhysical}}
	}
	for name, c := range map[string]struct {
		standings   []quota.Standing
		cost        quota.Cost
		limit, used int64
	}{
		"none":                      {nil, quota.Cost{Data: 1, Pieces: 2}, 0, 0},
		"files only":                {[]quota.Standing{standing(0, 5, 0, 10)}, quota.Cost{Data: 1, Pieces: 2}, 0, 0},
		"bytes":                     {[]quota.Standing{standing(100, 60, 0, 120)}, quota.Cost{Data: 1, Pieces: 2}, 100, 60},
		"physical":                  {[]quota.Standing{standing(0, 30, 101, 61)}, quota.Cost{Data: 1, Pieces: 2}, 50, 31},
		"physical is tighter":       {[]quota.Standing{standing(100, 30, 100, 90)}, quota.Cost{Data: 1, Pieces: 2}, 50, 45},
		"bytes are tighter":         {[]quota.Standing{standing(40, 35, 200, 70)}, quota.Cost{Data: 1, Pieces: 2}, 40, 35},
		"the second":                {[]quota.Standing{standing(1000, 0, 0, 0), standing(5000, 4500, 0, 0)}, quota.Cost{Data: 1, Pieces: 1}, 5000, 4500},
		"above":                     {[]quota.Standing{standing(100, 150, 0, 0), standing(10, 9, 0, 0)}, quota.Cost{Data: 1, Pieces: 1}, 100, 150},
		"4+2":                       {[]quota.Standing{standing(0, 0, 600, 300)}, quota.Cost{Data: 4, Pieces: 6}, 400, 200},
		"4+2, rounded to be safe":   {[]quota.Standing{standing(0, 0, 601, 301)}, quota.Cost{Data: 4, Pieces: 6}, 400, 201},
		"2+1, rounded to be safe":   {[]quota.Standing{standing(0, 0, 100, 2)}, quota.Cost{Data: 2, Pieces: 3}, 66, 2},
		"10+4 is tighter":           {[]quota.Standing{standing(1000, 0, 1400, 1386)}, quota.Cost{Data: 10, Pieces: 14}, 1000, 990},
		"a limit beyond everything": {[]quota.Standing{standing(0, 0, math.MaxInt64, 0)}, quota.Cost{Data: 28, Pieces: 32}, math.MaxInt64/32*28 + 27, 0},
		"no cost":                   {[]quota.Standing{standing(0, 0, 100, 10)}, quota.Cost{}, 100, 10},
		"a limit is never no limit": {[]quota.Standing{standing(0, 0, 1, 0)}, quota.Cost{Data: 1, Pieces: 3}, 1, 0},
	} {
		if limit, used := quota.Tightest(c.standings, c.cost); limit != c.limit || used != c.used {
			t.Errorf("%s: %d of %d, want %d of %d", name, used, limit, c.used, c.limit)
		}
	}
}

func TestLeft(t *testing.T) {
	standing := func(limitBytes, usedBytes, limitPhysical, usedPhysical int64) quota.Standing {
		return quota.Standing{Limits: hemera.QuotaAmount{Bytes: limitBytes, Physical: limitPhysical}, Used: hemera.QuotaAmount{Bytes: usedBytes, Physical: usedPhysical}}
	}
	for name, c := range map[string]struct {
		standings       []quota.Standing
		bytes, physical int64
	}{
		"none":               {nil, -1, -1},
		"bytes":              {[]quota.Standing{standing(100, 60, 0, 120)}, 40, -1},
		"physical":           {[]quota.Standing{standing(0, 60, 200, 120)}, -1, 80},
		"the least of each":  {[]quota.Standing{standing(100, 60, 200, 199), standing(50, 49, 300, 0)}, 1, 1},
		"above":              {[]quota.Standing{standing(100, 160, 0, 0), standing(100, 0, 0, 0)}, 0, -1},
		"usage below zero":   {[]quota.Standing{standing(math.MaxInt64, -5, 0, 0)}, math.MaxInt64, -1},
		"the last one is up": {[]quota.Standing{standing(100, 0, 0, 0), standing(100, 100, 0, 0)}, 0, -1},
	} {
		if bytes, physical := quota.Left(c.standings); bytes != c.bytes || physical != c.physical {
			t.Errorf("%s: %d and %d, want %d and %d", name, bytes, physical, c.bytes, c.physical)
		}
	}
}

// TestDecideIsNoMoreThanASum compares Decide with the obvious rule if sizes are known and usage is not negative.
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
