package admin

import (
	"context"
	"net/http"
	"strconv"
)

// strangerKey is the context key of a request from a stranger.
// The mark is in the context and not a header, so that no client can set or remove it.
type strangerKey struct{}

// FromStranger marks a request as one of somebody who shall learn that the server lives, and nothing of it.
func FromStranger(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), strangerKey{}, true))
}

// fromStranger is true if FromStranger marked the request.
func fromStranger(r *http.Request) bool {
	is, _ := r.Context().Value(strangerKey{}).(bool)
	return is
}

// Quoted is a text of a client's, safe to show and not long.
// It has at most 64 bytes of the text, in quotes; a byte that is not printable ASCII becomes an escape, so that it
// can forge no line of a log.
func Quoted(s string) string { return strconv.QuoteToASCII(s[:min(len(s), 64)]) }
