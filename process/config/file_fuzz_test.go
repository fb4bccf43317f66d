package config

import "testing"

// FuzzParseFile: a file that the TOML decoder accepts has settings, each with its line.
func FuzzParseFile(f *testing.F) {
	f.Add([]byte("port = 1094\n[auth]\ntrusted_networks = [\"10.1.0.0/24=own\"]\nx = {a = 1}\n[[node]]\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = parseFile(data, "x")
		_ = new(Bytes).UnmarshalText(data)
	})
}
