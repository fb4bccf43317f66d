package adminapi

import (
	"context"
	"time"

	"hemera/words/hemera"
)

// ConversionRequest asks for files to be stored in a form.
type ConversionRequest struct {
	Path      string // of a file, or with Recursive of a directory
	Recursive bool
	Form      hemera.Form
}

// Conversion is a request, as it is remembered, and how far it is. Files that are written meanwhile are left alone.
type Conversion struct {
	ID uint64
	ConversionRequest
	Root         hemera.FileID // the file or directory, wherever it is moved
	Who          string
	Asked, Ended time.Time // Ended is zero while there is something to do
	// Pass counts how often the tree was gone through before; Cursor is the path below Root of the last file that is
	// done in this pass, Seen and SeenBytes are what was looked at in it and needs no other look.
	Pass            int
	Cursor          string
	Seen, SeenBytes int64
	// Done files were converted, of Bytes bytes. Skipped ones had changed meanwhile, and Failed ones could not be
	// converted; both are of the last pass.
	Done, Bytes     int64
	Skipped, Failed int64
	// Replaced files were left to an order that is newer, in the last pass.
	Replaced int64  `json:",omitempty"`
	Why      string // what failed last
	// Ending is the state in which it ended, if that is not "done": "failed" if files are left, "stopped", or "replaced by N", the number
	// of a newer request. Left and LeftBytes are the files that it has not done then.
	Ending          JobState `json:",omitempty"`
	Left, LeftBytes int64    `json:",omitempty"`
}

// ConversionStatus is a request with the state of its job.
type ConversionStatus struct {
	Conversion
	Job JobStatus
}

// ConvertAdmin has files stored in other forms, in the background. Callers have checked that who is an admin. A
// change blocks until it is durable. Conversions answers from memory, and fails only through a client that does not
// reach the manager.
type ConvertAdmin interface {
	// Convert remembers a request durably and begins it. NotFound, IsDirectory without Recursive, Invalid for a form
	// that cannot be, NotFound for a space that does not exist, Overloaded when too many are remembered.
	Convert(ctx context.Context, who string, r ConversionRequest) (Conversion, error)
	// Conversions lists requests, those that ended too for a while, oldest first.
	Conversions(ctx context.Context) ([]ConversionStatus, error)
	// StopConversion ends a request. Files that are converted stay so, those under way are finished. NotFound.
	StopConversion(ctx context.Context, id uint64) error
}
