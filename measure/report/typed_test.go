package report

import "testing"

func TestCommandsAreQuoted(t *testing.T) {
	for want, words := range map[string][]string{
		"hemera bench all --quick=true":             {"hemera bench all", "--quick=true"},
		"hemera bench '--title=two words'":          {"hemera", "bench", "--title=two words"},
		`hemera '--title=it'\''s' '--out=a;reboot'`: {"hemera", "--title=it's", "--out=a;reboot"},
	} {
		if got := typed(words); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}
