package errs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"hemera/words/errs"
)

// TestOneKind: errors.Is and KindOf agree about every error, whatever is in its chain, and the rest of the chain is found.
func TestOneKind(t *testing.T) {
	missing := errs.Wrap(&fs.PathError{Op: "open", Path: "/f", Err: fs.ErrNotExist}, "disk.Open", "/f")
	full := errs.New(errs.NoSpace, "place.Choose", "", "no room").WithRemedy("add disks")
	for name, c := range map[string]struct {
		err    error
		want   errs.Kind
		remedy string
		file   bool // has fs.ErrNotExist and an *fs.PathError in its chain
	}{
		"new":                      {full, errs.NoSpace, "add disks", false},
		"wrapped":                  {errs.Wrap(full, "manager.Open", "/f"), errs.NoSpace, "add disks", false},
		"of the system":            {missing, errs.NotFound, "", true},
		"replaced":                 {errs.As(missing, errs.Internal, "node.Open", ""), errs.Internal, "", true},
		"replaced, then wrapped":   {errs.Wrap(errs.As(missing, errs.Internal, "node.Open", ""), "xrd.Open", "/f"), errs.Internal, "", true},
		"replaced twice":           {errs.As(errs.As(full, errs.Unavailable, "a.B", ""), errs.NotFound, "c.D", ""), errs.NotFound, "add disks", false},
		"within another's error":   {fmt.Errorf("while copying: %w", errs.As(missing, errs.IO, "a.B", "")), errs.IO, "", true},
		"a bare kind":              {errs.Locked, errs.Locked, "", false},
		"a kind within":            {errs.As(errs.Locked, errs.Denied, "a.B", ""), errs.Denied, "", false},
		"a context that has ended": {errs.Wrap(context.Canceled, "a.B", ""), errs.Cancelled, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := errs.KindOf(c.err); got != c.want {
				t.Errorf("kind %v, want %v", got, c.want)
			}
			for k := errs.Internal; k <= errs.Overloaded; k++ {
				if errors.Is(c.err, k) != (k == c.want) {
					t.Errorf("errors.Is finds %v in %v", k, c.err)
				}
			}
			var path *fs.PathError
			if errors.Is(c.err, fs.ErrNotExist) != c.file || errors.As(c.err, &path) != c.file {
				t.Errorf("the cause of %v is not found as it should be", c.err)
			}
			if got := errs.RemedyOf(c.err); got != c.remedy {
				t.Errorf("remedy %q, want %q", got, c.remedy)
			}
		})
	}
}

// TestUnsaidCauses: such causes are in the chain, and in no text.
func TestUnsaidCauses(t *testing.T) {
	err := &errs.Error{Kind: errs.Corrupt, Op: "transfer.Read", Subject: "/f", Text: "it is damaged", Cause: errs.Unsaid(io.ErrUnexpectedEOF)}
	if err.Error() != "transfer.Read /f: it is damaged" || !errors.Is(err, io.ErrUnexpectedEOF) || errs.KindOf(err) != errs.Corrupt {
		t.Errorf("%q, %v", err.Error(), err)
	}
	if errs.Unsaid(nil) != nil {
		t.Error("of nil")
	}
}
