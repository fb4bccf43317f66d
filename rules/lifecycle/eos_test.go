package lifecycle

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// EOS's attributes as rules in our syntax.
func TestRulesOfEOS(t *testing.T) {
	// raid6 with 6 stripes of 1M, adler, and crc32c of blocks; two copies with adler.
	const raid6, copies = "20640542", "00650112"
	for _, c := range []struct {
		name    string
		attrs   []string
		expire  []string
		convert []string
		ignored int
	}{
		{"none", []string{"sys.acl", "u:1:rw"}, nil, nil, 0},
		{"by age", []string{AttrMatch, "*.tmp:3d,*:1mo"}, []string{"age=3d name=*.tmp", "age=31d name=*"}, nil, 0},
		{"by age and size", []string{AttrMatch, "*:1w:>1G,,*.log:3600:<1k,"}, []string{"age=1w min=1000000001 name=*", "age=1h max=999 name=*.log"}, nil, 0},
		{"capitals", []string{AttrMatch, "*:90MIN,a:2MO:>5M"}, []string{"age=90m name=*", "age=62d min=5000001 name=a"}, nil, 0},
		{"by use", []string{AttrMatch, "*:1y", attrAccessTime, "1d"}, []string{"unused=1y name=*"}, nil, 0},
		{"ours is set", []string{AttrMatch, "*:1d", AttrExpire, "age=10d"}, []string{"age=10d"}, nil, 0},
		{"ours is off", []string{AttrMatch, "*:1d", AttrExpire, "off", AttrConvertMatch, "*:1d", AttrConvert, "off"}, nil, nil, 0},
		{"converted", []string{AttrConvertMatch, "*.root:1mo:>1G", "sys.conversion.*.root", raid6},
			nil, []string{"layout=rs:4+2 blocksize=1M checksum=adler32 age=31d min=1000000001 name=*.root"}, 0},
		{"in EOS's order", []string{AttrConvertMatch, "*.root:1w,*:1d", "sys.conversion.*.root", raid6, "sys.conversion.*", copies},
			nil, []string{"layout=replica:2 checksum=adler32 age=1d name=*", "layout=rs:4+2 blocksize=1M checksum=adler32 age=1w name=*.root"}, 0},
		{"in their space", []string{AttrConvertMatch, "*:1d", "sys.conversion.*", copies, "sys.forced.space", "fast"},
			nil, []string{"layout=replica:2 checksum=adler32 age=1d name=*"}, 0},
		{"to the space of conversions", []string{AttrConvertMatch, "*:1d", "sys.conversion.*", copies, "sys.forced.space", "fast", attrConvertSpace, "slow"},
			nil, []string{"layout=replica:2 space=slow checksum=adler32 age=1d name=*"}, 0},
		{"by use, placed as always", []string{AttrConvertMatch, "*:6mo", "sys.conversion.*", copies + "|scattered", attrAccessTime, "1w"},
			nil, []string{"layout=replica:2 checksum=adler32 unused=186d name=*"}, 0},
		{"without a form", []string{AttrConvertMatch, "*:1d,*.root:1d", "sys.conversion.*.root", copies},
			nil, []string{"layout=replica:2 checksum=adler32 age=1d name=*.root"}, 1},
		{"of an earlier version", []string{AttrMatch, "?.tmp:1d", AttrConvertMatch, "*:1d", "sys.conversion.*", "raid6"}, nil, nil, 2},
	} {
		expire, convert := rulesOf(c.attrs...).Statements()
		if !slices.Equal(expire.Rules, c.expire) || !slices.Equal(convert.Rules, c.convert) || len(expire.Ignored)+len(convert.Ignored) != c.ignored {
			t.Errorf("%s:\n expire %+v\nconvert %+v", c.name, expire, convert)
		}
		// The rules are the same when they are set as an attribute of ours.
		for name, rules := range map[string][]string{AttrExpire: expire.Rules, AttrConvert: convert.Rules} {
			if again, err := parse(name, strings.Join(rules, "; ")); err != nil || len(again) != len(rules) {
				t.Errorf("%s: %v: %v", c.name, rules, err)
			} else if st := (said{rules: again}).statement(); !slices.Equal(st.Rules, rules) {
				t.Errorf("%s: %v are read as %v", c.name, rules, st.Rules)
			}
		}
	}
}

func TestDecideAsEOSDoes(t *testing.T) {
	rules := rulesOf(AttrMatch, "*.tmp:3d:<1k,*:1mo", AttrConvertMatch, "*:1d:>1k", "sys.conversion.*", "20640542")
	coded := Action{Form: hemera.Form{Layout: hemera.ReedSolomon(4, 2), BlockSize: 1 << 20, Checksum: hemera.Adler32}}
	done := file("f", 1001, 2*day)
	done.Layout = hemera.ReedSolomon(4, 2)
	for _, c := range []struct {
		name string
		file hemera.Entry
		want Action
	}{
		{"old", file("f", 1, 31*day), Action{Expire: true}}, {"not yet a month", file("f", 1, 31*day-time.Second), Action{}},
		{"small", file("f.tmp", 999, 3*day), Action{Expire: true}}, {"not smaller", file("f.tmp", 1000, 3*day), Action{}},
		{"large", file("f", 1001, day), coded}, {"not larger", file("f", 1000, day), Action{}}, {"too young", file("f", 1001, day-1), Action{}},
		{"converted", done, Action{}},
	} {
		if got := rules.Decide(c.file, time.Time{}, now); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestConversionsOfEOS(t *testing.T) {
	for _, c := range []struct{ id, want string }{
		{"20640542", "layout=rs:4+2 blocksize=1M checksum=adler32"}, {"0x20640542", "layout=rs:4+2 blocksize=1M checksum=adler32"},
		{"640542", "layout=rs:4+2 blocksize=1M checksum=adler32"}, // without the number of parities, as in old versions
		{"00100001", "layout=plain"}, {"00650112", "layout=replica:2 checksum=adler32"}, {"00000218", "layout=replica:3 checksum=sha256"},
		{"2066053a", "layout=rs:4+2 blocksize=16M checksum=blake3"}, {"30610b26", "layout=rs:9+3 blocksize=64k checksum=crc32c"},
		{"40650d54", "layout=rs:10+4 blocksize=4M checksum=md5"}, {"10620362", "layout=rs:3+1 blocksize=128k checksum=adler32"},
		{"70640f42", "layout=rs:9+7 blocksize=1M checksum=adler32"},
		{"", ""}, {"raid6", ""}, {"eos.space=default&eos.layout=raid6", ""}, {"20640542|gathered:site1::rack2", ""}, {"a0640542", ""}, {"120640542", ""},
		{"21640542", ""}, {"20600542", ""}, {"20670542", ""}, {"20680542", ""}, {"20640540", "layout=rs:4+2 blocksize=1M"}, {"20640543", ""}, {"20640545", ""},
		{"20640142", ""}, {"206405f2", ""}, {"00000102", ""}, {"0000ff12", ""},
	} {
		f, err := parseConversion("sys.conversion.*", c.id)
		if f.String() != c.want || (err == nil) != (c.want != "") || err != nil && (!errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "") {
			t.Errorf("%s: %s, %v, want %s", c.id, f, err, c.want)
		}
		if err == nil && CheckForm(f) != nil && !f.Zero() {
			t.Errorf("%s: %v", c.id, CheckForm(f))
		}
	}
}

func TestCheckAttributesOfEOS(t *testing.T) {
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{AttrMatch, "*.tmp:3d,*:1mo", true}, {AttrMatch, "*:1w:<1M", true}, {AttrMatch, "touched*:60", true}, {AttrMatch, "", true},
		{AttrMatch, "*.tmp", false}, {AttrMatch, "*:soon", false}, {AttrMatch, "*:4s", false}, {AttrMatch, "*:5m", false}, {AttrMatch, "*:101y", false},
		{AttrMatch, "*:99999999999999999y", false}, {AttrMatch, "*:1w:1M", false}, {AttrMatch, "*:1w:>0", false}, {AttrMatch, "*:1w:<>1M", false}, {AttrMatch, "*:<1d", false},
		{AttrMatch, ":1d", false}, {AttrMatch, `.*\.root:1d`, false}, {AttrMatch, ".*:1d", false}, {AttrMatch, "[a-z]:1d", false}, {AttrMatch, "a?:1d", false},
		{AttrConvertMatch, "*:1d", true}, {AttrConvertMatch, "*:1w:<1M,*.root:1w", true}, {AttrConvertMatch, "*:1w:<1M,*:1mo:>1G", false},
		{"sys.conversion.*", "20640542", true}, {"sys.conversion.*.root", "20640542|gathered:a", false}, {attrAccessTime, "300", true}, {attrAccessTime, "1w", true},
		{attrAccessTime, "on", false}, {"sys.lru.expire.empty", "1h", false}, {"sys.lru.lowwatermark", "90", false}, {"sys.lru.highwatermark", "95", false},
		{"sys.lru.other", "1", false},
	} {
		_, err := CheckAttribute(c.name, c.value)
		if (err == nil) != c.ok || err != nil && (!errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "") {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
	}
	if forms, err := CheckAttribute(attrConvertSpace, "slow"); err != nil || !slices.Equal(forms, []hemera.Form{{Space: "slow"}}) {
		t.Errorf("%v, %v", forms, err)
	}
}
