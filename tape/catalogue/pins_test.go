package catalogue

import (
	"testing"
)

// What a release takes: the oldest pin of the caller, the one of a request, and of others only for an admin.
func TestWhoseRequestARelease(t *testing.T) {
	pins := []Pin{{"a:1", 1000}, {"b:2", 1001}, {"c:3", 1000}}
	for _, c := range []struct {
		name string
		by   Releaser
		want int
	}{
		{"the oldest of the caller", Releaser{UID: 1000}, 0},
		{"a request of the caller", Releaser{UID: 1000, Request: "c:3"}, 2},
		{"a request of somebody else", Releaser{UID: 1000, Request: "b:2"}, -1},
		{"a stranger", Releaser{UID: 1002}, -1},
		{"an admin with a request", Releaser{UID: 1001, Admin: true}, 1},
		{"an admin without one", Releaser{UID: 0, Admin: true}, 0},
		{"an admin, of a request", Releaser{UID: 0, Admin: true, Request: "b:2"}, 1},
		{"a request that does not have the file", Releaser{UID: 0, Admin: true, Request: "d:4"}, -1},
	} {
		if got := c.by.takes(pins); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
