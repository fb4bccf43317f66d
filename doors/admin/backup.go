package admin

import (
	"context"
	"net/http"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveBackup serves a backup as a stream of chunks. A slow client slows the backup, not the manager. A client that reads
// nothing for stallTime loses its connection (paced.go), because the snapshot of the backup keeps everything that is
// overwritten meanwhile.
func serveBackup(d *door) {
	h := streamed(d, "Backup", func(ctx context.Context, _ hemera.Identity, _ *adminapi.None, send func(*adminapi.Chunk) error) error {
		b, err := part(d.Backups, "backup")
		if err != nil {
			return err
		}
		return b.Backup(ctx, chunks(send))
	})
	// Not with stream: the answer needs a deadline for each write.
	d.serve("Backup", true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(paced{w}, r) }))
}

// chunks sends each write as one message.
type chunks func(*adminapi.Chunk) error

// Write implements io.Writer.
func (c chunks) Write(b []byte) (int, error) {
	if err := c(&adminapi.Chunk{Data: b}); err != nil {
		return 0, err
	}
	return len(b), nil
}
