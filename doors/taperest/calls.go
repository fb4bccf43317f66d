package taperest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// made is the answer to a new request, which is durable.
type made struct {
	ID       string `json:"requestId"`
	location string // of the request, for the header
}

// callStage makes a stage request. Files that cannot be staged are part of it, with their error.
func callStage(d *door, r *http.Request, who hemera.Identity) (any, error) {
	files, err := d.filesOf(r)
	if err != nil {
		return nil, err
	}
	d.audit(r.Context(), who, "stage", "", len(files))
	id, err := d.Staging.Stage(r.Context(), who, tapeapi.StageRequest{Files: files})
	if err != nil {
		return nil, err
	}
	return made{ID: id, location: Root + "stage/" + url.PathEscape(id)}, nil
}

// statusAnswer has the state of a request. Times are seconds since 1970.
type statusAnswer struct {
	ID        string       `json:"id"`
	Created   int64        `json:"createdAt"`
	Started   int64        `json:"startedAt,omitempty"`
	Completed int64        `json:"completedAt,omitempty"`
	Files     []fileStatus `json:"files"`
}

// fileStatus is the state of one file of a request. A file on disk is done; a file with an error has failed.
type fileStatus struct {
	Path   string `json:"path"`
	OnDisk *bool  `json:"onDisk,omitempty"`
	Error  string `json:"error,omitempty"`
}

// callStatus answers with the state of a request.
func callStatus(d *door, r *http.Request, who hemera.Identity) (any, error) {
	s, err := d.Staging.StageStatus(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	// All files are in one answer: the specification has no pages.
	a := statusAnswer{ID: s.ID, Created: seconds(s.Made), Started: seconds(s.Started), Completed: seconds(s.Ended), Files: make([]fileStatus, len(s.Files))}
	for i, l := range s.Files {
		a.Files[i] = fileStatusOf(l)
	}
	return a, nil
}

// seconds returns a time in seconds since 1970, like EOS; 0 for the zero time.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// fileStatusOf returns the state of a file. Clients wait while a file is not on disk and has no error, so a file that
// will not come has an error. An earlier error does not matter for a file that is on disk.
func fileStatusOf(l tapeapi.Locality) fileStatus {
	s := fileStatus{Path: l.Path}
	switch {
	case l.OnDisk, l.Error == "" && !l.Cancelled:
		s.OnDisk = &l.OnDisk
	case l.Error != "":
		s.Error = errs.Plain(l.Error)
	default:
		s.Error = "the request for this file was cancelled"
	}
	return s
}

// callCancel withdraws files from a request. It fails with 400 if the request does not have one of them.
func callCancel(d *door, r *http.Request, who hemera.Identity) (any, error) {
	id := r.PathValue("id")
	paths, err := d.pathsOf(r)
	if err != nil {
		return nil, err
	}
	d.audit(r.Context(), who, "cancel", id, len(paths))
	return nil, d.Staging.CancelStage(r.Context(), who, id, paths, false)
}

// callDelete withdraws all files of a request and forgets it.
func callDelete(d *door, r *http.Request, who hemera.Identity) (any, error) {
	id := r.PathValue("id")
	// No paths: the whole request.
	d.audit(r.Context(), who, "delete", id, 0)
	return nil, d.Staging.CancelStage(r.Context(), who, id, nil, true)
}

// callRelease states that the request no longer needs its files on disk. An unknown id stands for any request of the
// caller. It tries all paths, and then fails with the error of the first that could not be released.
func callRelease(d *door, r *http.Request, who hemera.Identity) (any, error) {
	paths, err := d.pathsOf(r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	d.audit(r.Context(), who, "release", id, len(paths))
	each, err := d.Staging.Release(r.Context(), who, id, paths)
	if err != nil {
		return nil, err
	}
	// The protocol has no answer for each path, so the text says how many failed.
	var first error
	failed := 0
	for _, err := range each {
		if err == nil {
			continue
		}
		if failed++; first == nil {
			first = err
		}
	}
	if failed < 2 {
		return nil, first
	}
	return nil, errs.As(first, errs.KindOf(first), "taperest.Release", fmt.Sprintf("%d of %d files", failed, len(paths)))
}

// fileLocality says where one file is: a word of the specification, or an error.
type fileLocality struct {
	Path     string `json:"path"`
	Locality string `json:"locality,omitempty"`
	Error    string `json:"error,omitempty"`
}

// callArchiveInfo answers with the places of files, in the order of the paths.
func callArchiveInfo(d *door, r *http.Request, who hemera.Identity) (any, error) {
	paths, err := d.pathsOf(r)
	if err != nil {
		return nil, err
	}
	found, err := d.Staging.Localities(r.Context(), who, "", paths)
	if err != nil {
		return nil, err
	}
	list := make([]fileLocality, len(found))
	for i, l := range found {
		list[i] = localityOf(l)
	}
	return list, nil
}

// localityOf returns the place of a file as a word of the specification. A file that cannot be looked at has only an
// error. The error of the last recall is left out.
func localityOf(l tapeapi.Locality) fileLocality {
	f := fileLocality{Path: l.Path}
	switch {
	case !l.Exists, l.Error != "" && !l.OnDisk && !l.OnTape: // missing, or denied
		f.Error = errs.Plain(cmp.Or(l.Error, errs.NotFound.String()))
	case l.OnDisk && l.OnTape:
		f.Locality = "DISK_AND_TAPE"
	case l.OnDisk:
		f.Locality = "DISK"
	case l.OnTape:
		f.Locality = "TAPE"
	default: // the file exists, but on no disk that answers and on no tape
		f.Locality = "UNAVAILABLE"
	}
	return f
}
