package taperest

import (
	"encoding/json"
	"errors"
	"net/http"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// problem is the body of an error, as in RFC 9457.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Type   string `json:"type"`
}

// statusOf returns the HTTP status of a failure. Clients repeat a request later after 5xx, and not after 4xx.
func statusOf(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	switch errs.KindOf(err) {
	case errs.Invalid, errs.IsDirectory, errs.NotDirectory:
		return http.StatusBadRequest
	case errs.Unauthenticated:
		return http.StatusUnauthorized
	case errs.Denied:
		return http.StatusForbidden
	case errs.NotFound:
		return http.StatusNotFound
	case errs.Conflict, errs.Exists, errs.Locked: // the state of a file, which a repetition does not change
		return http.StatusConflict
	case errs.TooLarge:
		return http.StatusRequestEntityTooLarge
	case errs.Unsupported:
		return http.StatusNotImplemented
	case errs.Unavailable, errs.Overloaded, errs.Timeout, errs.Fenced, errs.Cancelled:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// fail answers with an error, followed by its remedy.
func (d *door) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retrySeconds)
	}
	if status == http.StatusInternalServerError { // a defect, or a failure without a status of its own
		d.Log.Warn("tape request failed", "path", r.URL.Path, "trace", hemera.TraceID(r.Context()), "error", err)
	}
	// Clients show the text to their users as it is.
	text := errs.Plain(err.Error())
	if remedy := errs.RemedyOf(err); remedy != "" {
		text += "; " + remedy
	}
	answerError(w, status, errs.WithPosix(text, errs.Posix(errs.KindOf(err))))
}

// answerError answers with a problem. Its type about:blank states that the status says everything.
func answerError(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json") // clients that do not know the type read the same JSON
	write(w, status, problem{Title: http.StatusText(status), Status: status, Detail: detail, Type: "about:blank"})
}

// answerJSON answers with a value, or with the status only if it is nil.
func answerJSON(w http.ResponseWriter, status int, value any) {
	if value == nil { // cancel, delete and release
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, status, value)
}

// write sends a value, followed by a line end. It ignores the error of a broken connection.
func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Cache-Control", "no-store") // states change
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // paths are shown unchanged
	_ = e.Encode(value)
}
