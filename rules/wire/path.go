package wire

import (
	"bytes"
	"iter"
	"strings"

	"hemera/words/hemera"
)

// SplitPath reads a path payload: it ends at the first NUL, and at the first '?' the opaque part begins.
func SplitPath(payload []byte) (path string, opaque Opaque) {
	if i := bytes.IndexByte(payload, 0); i >= 0 {
		payload = payload[:i]
	}
	p, o, _ := strings.Cut(string(payload), "?")
	return p, Opaque(o)
}

// CleanPath returns a client's path as an absolute and clean one ("/a/b"), without doubled slashes and ".". A path that
// ended in a slash or in "." keeps one slash at the end: it must be a directory, see [hemera.Names]. It refuses relative
// paths, "..", control characters and paths that are too long.
func CleanPath(p string) (string, error) {
	switch {
	case p == "":
		return "", fail(ArgMissing, "the request lacks a path")
	case p[0] != '/':
		return "", fail(NotAuthorized, "%.60q: a path begins with /; in a URL two slashes follow the host: root://HOST//%.60s", p, p)
	case len(p) > hemera.PathMax:
		return "", fail(ArgTooLong, "the path has %d bytes, the limit is %d: file name too long", len(p), hemera.PathMax)
	}
	switch clean, err := isClean(p); {
	case err != nil:
		return "", err
	case clean:
		return p, nil
	}
	var b strings.Builder
	b.Grow(len(p))
	for name := range strings.SplitSeq(p, "/") {
		if name != "" && name != "." {
			b.WriteByte('/')
			b.WriteString(name)
		}
	}
	if b.Len() == 0 || strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") {
		b.WriteByte('/')
	}
	return b.String(), nil
}

// isClean reports whether p, which begins with a slash, needs no change, and what is forbidden in it.
func isClean(p string) (clean bool, err error) {
	clean = true
	start := 1
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			if p[i] < ' ' || p[i] == 0x7f {
				return false, fail(ArgInvalid, "%.60q: a name may not have control characters, such as tabs and newlines", p)
			}
			continue
		}
		name := p[start:i]
		switch {
		case name == "..":
			return false, fail(NotAuthorized, "%.60q: .. is not allowed in a path; write it from / on", p)
		case len(name) > hemera.NameMax:
			return false, fail(ArgTooLong, "a name in the path has %d bytes, the limit is %d: file name too long", len(name), hemera.NameMax)
		case name == "" && i < len(p), name == ".": // an empty last name is the slash at the end
			clean = false
		}
		start = i + 1
	}
	return clean, nil
}

// Opaque is the part of a path after the '?': key=value pairs between '&'. Values are not percent-encoded.
type Opaque string

// All yields the pairs in order; a key without '=' has an empty value.
func (o Opaque) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for rest := string(o); rest != ""; {
			var pair string
			pair, rest = nextPair(rest)
			key, value, _ := strings.Cut(pair, "=")
			if pair != "" && !yield(key, value) {
				return
			}
		}
	}
}

// nextPair cuts at the first separator. It searches for single bytes, which is the fastest way: a capability is long, and
// the opaque part of a path is searched often.
func nextPair(s string) (pair, rest string) {
	pair, rest, _ = strings.Cut(s, "&")
	if i := strings.IndexByte(pair, '?'); i >= 0 {
		return pair[:i], s[i+1:]
	}
	return pair, rest
}

// Get returns the first value of the key, and whether the key is present.
func (o Opaque) Get(key string) (string, bool) {
	for rest := string(o); rest != ""; {
		var pair string
		pair, rest = nextPair(rest)
		if value, ok := strings.CutPrefix(pair, key); ok && pair != "" && (value == "" || value[0] == '=') {
			return strings.TrimPrefix(value, "="), true
		}
	}
	return "", false
}

// Value works like Get for callers that need not distinguish absent and empty.
func (o Opaque) Value(key string) string {
	v, _ := o.Get(key)
	return v
}

// Has reports whether the key is present.
func (o Opaque) Has(key string) bool {
	_, ok := o.Get(key)
	return ok
}

// With returns o with the pair added at its end; other values of the key are removed.
func (o Opaque) With(key, value string) Opaque {
	out := string(o.Without(key))
	if out != "" {
		out += "&"
	}
	return Opaque(out + key + "=" + value)
}

// Without returns o without the key.
func (o Opaque) Without(key string) Opaque {
	if !o.Has(key) {
		return o
	}
	var pairs []string
	for k, v := range o.All() {
		if k != key {
			pairs = append(pairs, k+"="+v)
		}
	}
	return Opaque(strings.Join(pairs, "&"))
}

// Join returns path?opaque, or path alone if o is empty.
func (o Opaque) Join(path string) string {
	if o == "" {
		return path
	}
	return path + "?" + string(o)
}
