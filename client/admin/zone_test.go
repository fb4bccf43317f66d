package admin

import "testing"

// TestAddressesHaveZones checks zones of link-local addresses, as XRootD URLs write them and as HTTP URLs do.
func TestAddressesHaveZones(t *testing.T) {
	for url, want := range map[string][2]string{
		"root://[fe80::1%eth0]:1095":   {"http://[fe80::1%25eth0]:1095", "[fe80::1%eth0]:1095"},
		"root://[fe80::1%25eth0]:1095": {"http://[fe80::1%25eth0]:1095", "[fe80::1%eth0]:1095"},
		"http://[fe80::1%eth0]":        {"http://[fe80::1%25eth0]:1094", "[fe80::1%eth0]:1094"},
		"root://[::1]:1095":            {"http://[::1]:1095", "[::1]:1095"},
		"root://host:1095":             {"http://host:1095", "host:1095"},
	} {
		c, err := Dial(url)
		if err != nil || c.server.base != want[0] || c.server.addr != want[1] {
			t.Errorf("%s: %+v, %v", url, c, err)
		}
	}
	for _, url := range []string{"root://[fe80::1", "root://%eth0]", "root://]%["} {
		if _, err := Dial(url); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}
