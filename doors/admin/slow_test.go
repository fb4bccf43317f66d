package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hemera/doors/admin"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// deadlines records the deadlines that a handler sets.
type deadlines struct {
	*httptest.ResponseRecorder
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.last = t
	return nil
}

// TestStrangersMayNotBeSlow checks that only an identified sender may take any time for its request.
func TestStrangersMayNotBeSlow(t *testing.T) {
	for known, name := range map[bool]string{true: "alice", false: "a stranger"} {
		h := admin.NewHandler(admin.Services{}, func(*http.Request) (hemera.Identity, error) {
			if known {
				return hemera.Identity{Name: name}, nil
			}
			return hemera.Identity{}, errs.New(errs.Unauthenticated, "auth", name, "who are you")
		})
		r := httptest.NewRequest("POST", "/hemera.admin.v1.Admin/Version", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, r)
		if w.last.IsZero() != known {
			t.Errorf("%s: deadline %v, answer %d", name, w.last, w.Code)
		}
	}
}
