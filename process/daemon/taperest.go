package daemon

import (
	"net/http"
	"strings"

	"hemera/doors/taperest"
)

// addTapeAPI adds the tape REST API to an HTTP handler. Its callers are identified like those of the admin API; other
// machines can only see where the API is.
func addTapeAPI(o taperest.Options, next http.Handler) http.Handler {
	tape := taperest.NewHandler(o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == taperest.WellKnown || strings.HasPrefix(r.URL.Path, taperest.Root) {
			tape.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
