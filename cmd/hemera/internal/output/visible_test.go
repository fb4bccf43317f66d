package output

import "testing"

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"plain, Ünïcode, 日本語, ✓":       "plain, Ünïcode, 日本語, ✓",
		"two\nlines\tand a tab":        "two\nlines\tand a tab",
		"\x1b]0;title\a\x1b[2J\x7f\r":  `\x1b]0;title\a\x1b[2J\x7f\r`,
		"eight bits \x9b31m, \xc3\x28": `eight bits \x9b31m, \xc3(`,
		"C1 in UTF-8 \u009b31m":        `C1 in UTF-8 \u009b31m`,
		"backwards \u202egnp.exe":      `backwards \u202egnp.exe`,
		"\ufffd is a character":        "\ufffd is a character",
		`a quote " and a \ stay`:       `a quote " and a \ stay`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
