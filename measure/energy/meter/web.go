package meter

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hemera/words/errs"
)

// pageMax bounds an answer of a device.
const pageMax = 4 << 20

// ask gets a page of a device as a JSON value. An error names the host and the path, never the query: plugs take passwords there.
func ask(ctx context.Context, o Options, at string, login bool) (any, error) {
	const op = "meter.Ask"
	// The address may have a password in its query, so errors have none of it.
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, errs.New(errs.Invalid, op, "", "it is no address of a device")
	}
	subject := u.Host + u.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, errs.New(errs.Invalid, op, subject, "it is no address of a device")
	}
	request.Header.Set("Accept", "application/json")
	if login {
		o.Login.set(request)
	}
	// The client has a timeout; a context may end it earlier.
	answer, err := o.Client.Do(request)
	if err != nil {
		return nil, unreachable(err, subject)
	}
	defer func() { _ = answer.Body.Close() }()
	switch {
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		return nil, errs.New(errs.Unauthenticated, op, subject, "it wants a user and a password").
			WithRemedy("name a file with USER:PASSWORD by --meter-login; the user of a Shelly of the second generation is admin")
	case answer.StatusCode == http.StatusNotFound:
		return nil, errs.New(errs.NotFound, op, subject, "the device has no such page")
	case answer.StatusCode != http.StatusOK:
		return nil, errs.New(errs.Unavailable, op, subject, "the device answers "+answer.Status)
	}
	// Numbers become float64: no power needs more digits.
	var page any
	if err := json.NewDecoder(io.LimitReader(answer.Body, pageMax)).Decode(&page); err != nil {
		return nil, errs.New(errs.Invalid, op, subject, "the device does not answer with JSON")
	}
	return page, nil
}

// unreachable is the error for a device that did not answer. The cause without its URL: that has the query.
func unreachable(err error, subject string) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	// A plug without power looks the same as a wrong address.
	kind, remedy := errs.Unavailable, "is the address right, and the device on this network?"
	var refused *errs.Error
	if errors.As(err, &refused) { // by sameHost
		return refused
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		kind = errs.Timeout
	}
	if text := err.Error(); strings.Contains(text, "certificate") {
		remedy = "controllers sign their certificates themselves: --meter-insecure takes them"
	}
	return (&errs.Error{Kind: kind, Op: "meter.Ask", Subject: subject, Cause: err}).WithRemedy(remedy)
}

// dig finds the value at a path in a JSON value: names of members, and places in arrays.
func dig(page any, path ...string) any {
	for _, step := range path {
		switch v := page.(type) {
		case map[string]any:
			page = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			page = v[i]
		default:
			return nil
		}
	}
	return page
}

// number is the number at a path. Some devices write numbers as texts; null is no number.
func number(page any, path ...string) (float64, bool) {
	// Most give numbers. Some firmware writes them in quotes.
	switch v := dig(page, path...).(type) {
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && f == f
	}
	return 0, false
}

// text is the text at a path, or "".
func text(page any, path ...string) string {
	s, _ := dig(page, path...).(string)
	return s
}

// base is the address of a device that a user named by its host, with http unless they wrote more.
func base(host string) string {
	host = strings.TrimRight(host, "/")
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	return host
}
