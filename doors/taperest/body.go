package taperest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"hemera/rules/limits"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// body is what any call may get: a list of paths in one of two forms. Other fields are ignored, as clients send those of later
// versions too.
type body struct {
	Paths []string   `json:"paths"`
	Files []bodyFile `json:"files"`
}

// bodyFile is one file. diskLifetime is not known here: a file stays until it is released.
type bodyFile struct {
	Path     string                     `json:"path"`
	Metadata map[string]json.RawMessage `json:"targetedMetadata"` // by site
}

// parse reads a body. It fails with Invalid for what is not one JSON object, or has no path, too many, or a path that no file
// can have. The files are in the order of the body, those of files before those of paths.
func parse(data []byte, site string) ([]hemera.StageFile, error) {
	const op = "taperest.Read"
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, errs.As(err, errs.Invalid, op, "body")
	}
	// A client may use both forms at once.
	n := len(b.Paths) + len(b.Files)
	switch {
	case n == 0:
		return nil, errs.New(errs.Invalid, op, "body", `it names no file`).WithRemedy(`send {"paths":["/dir/file"]} or {"files":[{"path":"/dir/file"}]}`)
	case n > hemera.StagePathsMax:
		return nil, errs.New(errs.Invalid, op, "body", "it names more than "+strconv.Itoa(hemera.StagePathsMax)+" files").WithRemedy("make several requests")
	}
	for _, path := range b.Paths {
		b.Files = append(b.Files, bodyFile{Path: path})
	}
	list := make([]hemera.StageFile, 0, n)
	for _, f := range b.Files {
		path, err := wire.CleanPath(f.Path)
		if err != nil {
			return nil, errs.As(err, errs.Invalid, op, f.Path)
		}
		activity, err := f.activity(site)
		if err != nil {
			return nil, err
		}
		list = append(list, hemera.StageFile{Path: path, Activity: activity})
	}
	return list, nil
}

// activity is what the metadata for this site says, or else those for all sites. Mount rules choose by it how urgent a recall
// is; "" is none.
func (f *bodyFile) activity(site string) (string, error) {
	// Metadata of other sites may have any form, so only one is decoded.
	raw := f.Metadata[site]
	if raw == nil {
		raw = f.Metadata["default"]
	}
	if raw == nil {
		return "", nil
	}
	var m struct {
		Activity string `json:"activity"`
	}
	err := json.Unmarshal(raw, &m)
	return m.Activity, errs.As(err, errs.Invalid, "taperest.Read", "targetedMetadata")
}

// filesOf reads the files of a request. The whole body is in memory, which bodyMax and the budgets of the door bound.
func (d *door) filesOf(r *http.Request) ([]hemera.StageFile, error) {
	data, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); err != nil && !tooLarge && errs.KindOf(err) != errs.Overloaded { // the client left, or was too slow
		return nil, errs.As(err, errs.Invalid, "taperest.Read", "body")
	}
	if err != nil {
		return nil, err
	}
	return parse(data, d.Site)
}

// pathsOf reads the paths of a request that has no use for more. They are in the order of the body, since answers about them are
// paired with it.
func (d *door) pathsOf(r *http.Request) ([]string, error) {
	files, err := d.filesOf(r)
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	return paths, err
}

// busy says whose bound refuses a request.
func busy(path string, v limits.Verdict) error {
	text := "too many requests are being served"
	if v == limits.ShareFull {
		text = "too many requests of this user are being served"
	}
	return errs.New(errs.Overloaded, "taperest.Answer", path, text).WithRemedy("send it again in some seconds, and fewer at a time")
}

// countedBody is a body whose bytes are counted while they arrive: before they are read, so that memory is never ahead of the count.
type countedBody struct {
	io.ReadCloser
	account *limits.Account[hemera.Account]
	path    string
	taken   int64 // counted
	read    int64
}

// Read implements io.Reader. Overloaded if the bodies of the user, or of all, have no room for more.
func (b *countedBody) Read(p []byte) (int, error) {
	if b.read == b.taken {
		if v := b.account.Take(bodyStep); v != limits.Fits {
			return 0, busy(b.path, v)
		}
		b.taken += bodyStep
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.taken-b.read)])
	b.read += int64(n)
	return n, err
}

// release counts the body out.
func (b *countedBody) release() {
	b.account.Give(b.taken)
	b.account.Close()
}
