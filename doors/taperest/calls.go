package taperest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// made is the answer to a new request, which is durable by then.
type made struct {
	ID       string `json:"requestId"`
	location string // of the request, for the header
}

// callStage makes a request. Files that cannot be staged are in it with their error.
func callStage(d *door, r *http.Request, who hemera.Identity) (any, error) {
	files, err := d.filesOf(r)
	if err != nil {
		return nil, err
	}
	d.audit(r.Context(), who, "stage", "", len(files))
	id, err := d.Staging.Stage(r.Context(), who, hemera.StageRequest{Files: files})
	if err != nil {
		return nil, err
	}
	return made{ID: id, location: Root + "stage/" + url.PathEscape(id)}, nil
}

// statusAnswer is a request. Times are seconds since 1970.
type statusAnswer struct {
	ID        string       `json:"id"`
	Created   int64        `json:"createdAt"`
	Started   int64        `json:"startedAt,omitempty"`
	Completed int64        `json:"completedAt,omitempty"`
	Files     []fileStatus `json:"files"`
}

// fileStatus is one file of a request: it is done when it is on disk, and has failed when it has an error.
type fileStatus struct {
	Path   string `json:"path"`
	OnDisk *bool  `json:"onDisk,omitempty"`
	Error  string `json:"error,omitempty"`
}

// callStatus answers what has become of a request.
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

// seconds is a time as clients read it, zero for none: EOS answers with seconds, not milliseconds.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// fileStatusOf is the state of a file. Clients wait for a file as long as it is not on disk and has no error, so one that
// nobody will bring has one. What went wrong before does not matter for a file that is there.
func fileStatusOf(l hemera.Locality) fileStatus {
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

// callCancel withdraws files from a request. 400 if it does not have one of them.
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
	// Without paths all of the request is meant.
	d.audit(r.Context(), who, "delete", id, 0)
	return nil, d.Staging.CancelStage(r.Context(), who, id, nil, true)
}

// callRelease says that files are not needed on disk any more by the request of the id; one that is not known here stands for
// any request of the caller. It fails with the first path that could not be released, after all were tried.
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

// fileLocality is where one file is: a word of the specification, or an error.
type fileLocality struct {
	Path     string `json:"path"`
	Locality string `json:"locality,omitempty"`
	Error    string `json:"error,omitempty"`
}

// callArchiveInfo answers where files are, in the order of the paths.
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

// localityOf is where a file is, in the words of the specification. A file that cannot be looked at has an error alone. What
// went wrong with the last recall does not belong here.
func localityOf(l hemera.Locality) fileLocality {
	f := fileLocality{Path: l.Path}
	switch {
	case !l.Exists, l.Error != "" && !l.OnDisk && !l.OnTape: // missing, or not for this user
		f.Error = errs.Plain(cmp.Or(l.Error, errs.NotFound.String()))
	case l.OnDisk && l.OnTape:
		f.Locality = "DISK_AND_TAPE"
	case l.OnDisk:
		f.Locality = "DISK"
	case l.OnTape:
		f.Locality = "TAPE"
	default: // it is there, but on no disk that answers and on no tape
		f.Locality = "UNAVAILABLE"
	}
	return f
}
