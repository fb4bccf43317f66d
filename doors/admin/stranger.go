package admin

import (
	"context"
	"net/http"
	"strconv"
)

// strangerKey is the context key of a request from a stranger. The mark is in the context and not in a header, so that no
// client can set or remove it.
type strangerKey struct{}

// FromStranger marks a request of a sender who may learn only that the server runs.
func FromStranger(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), strangerKey{}, true))
}

// fromStranger reports whether FromStranger marked the request.
func fromStranger(r *http.Request) bool {
	is, _ := r.Context().Value(strangerKey{}).(bool)
	return is
}

// Quoted returns at most 64 bytes of a client's text in quotes, with escapes for bytes that are not printable ASCII, so
// that the text cannot forge lines of a log.
func Quoted(s string) string { return strconv.QuoteToASCII(s[:min(len(s), 64)]) }
