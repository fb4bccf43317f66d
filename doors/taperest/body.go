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
	"hemera/words/tapeapi"
)

// body is the body of any call: a list of paths in one of two forms. Other fields are ignored, because clients also send
// fields of later versions.
type body struct {
	Paths []string   `json:"paths"`
	Files []bodyFile `json:"files"`
}

// bodyFile is one file. diskLifetime is ignored: a file stays until it is released.
type bodyFile struct {
	Path     string                     `json:"path"`
	Metadata map[string]json.RawMessage `json:"targetedMetadata"` // by site
}

// parse reads a body. It fails with Invalid if the body is not one JSON object, has no paths or too many, or has a path
// that no file can have. The result has the files in the order of the body, those of "files" before those of "paths".
func parse(data []byte, site string) ([]tapeapi.StageFile, error) {
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
	case n > tapeapi.StagePathsMax:
		return nil, errs.New(errs.Invalid, op, "body", "it names more than "+strconv.Itoa(tapeapi.StagePathsMax)+" files").WithRemedy("make several requests")
	}
	for _, path := range b.Paths {
		b.Files = append(b.Files, bodyFile{Path: path})
	}
	list := make([]tapeapi.StageFile, 0, n)
	for _, f := range b.Files {
		path, err := wire.CleanPath(f.Path)
		if err != nil {
			return nil, errs.As(err, errs.Invalid, op, f.Path)
		}
		activity, err := f.activity(site)
		if err != nil {
			return nil, err
		}
		list = append(list, tapeapi.StageFile{Path: path, Activity: activity})
	}
	return list, nil
}

// activity returns the activity in the metadata for this site, or else in those for all sites; "" for none. Mount rules
// use it for the priority of a recall.
func (f *bodyFile) activity(site string) (string, error) {
	// Metadata of other sites may have any form, so they are not decoded.
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

// filesOf reads the files of a request. The whole body is in memory; bodyMax and the budgets of the door bound it.
func (d *door) filesOf(r *http.Request) ([]tapeapi.StageFile, error) {
	data, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); err != nil && !tooLarge && errs.KindOf(err) != errs.Overloaded { // the client left, or was too slow
		return nil, errs.As(err, errs.Invalid, "taperest.Read", "body")
	}
	if err != nil {
		return nil, err
	}
	return parse(data, d.Site)
}

// pathsOf reads the paths of a request in the order of the body; answers about them have the same order.
func (d *door) pathsOf(r *http.Request) ([]string, error) {
	files, err := d.filesOf(r)
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	return paths, err
}

// busy returns the error of a request that exceeds a bound.
func busy(path string, v limits.Verdict) error {
	text := "too many requests are being served"
	if v == limits.ShareFull {
		text = "too many requests of this user are being served"
	}
	return errs.New(errs.Overloaded, "taperest.Answer", path, text).WithRemedy("send it again in some seconds, and fewer at a time")
}

// countedBody charges a body while it arrives. It charges bytes before it reads them, so memory never exceeds the charge.
type countedBody struct {
	io.ReadCloser
	account *limits.Account[hemera.Account]
	path    string
	taken   int64 // counted
	read    int64
}

// Read implements io.Reader. It fails with Overloaded if the bodies of the user, or of all users, have reached their
// bound.
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

// release ends the charge of the body.
func (b *countedBody) release() {
	b.account.Give(b.taken)
	b.account.Close()
}
