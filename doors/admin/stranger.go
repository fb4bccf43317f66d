package admin

import (
	"context"
	"net/http"
	"strconv"
)

// strangerKey is the context key of a request from a stranger.
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
func Quoted(s string) string { return strconv.QuoteToASCII(s[:min(len(s), 64)]) }
