package admin

import (
	"context"
	"io"
	"net/http"

	"hemera/words/hemera"
)

// chunk is a run of an archive's bytes.
// Its size is what the writer of the archive wrote at once; the client puts chunks together in their order.
type chunk struct{ Data []byte }

// serveBackup serves a backup as a stream of chunks. A client that reads slowly slows the backup, not the manager.
// A client that takes nothing at all for stallTime is cut off (paced.go): the snapshot that the backup reads keeps
// everything that is overwritten meanwhile.
func serveBackup(d *door) {
	h := streamed(d, "Backup", func(ctx context.Context, _ hemera.Identity, _ *none, send func(*chunk) error) error {
		b, err := part(d.Backups, "backup")
		if err != nil {
			return err
		}
		return b.Backup(ctx, chunks(send))
	})
	// Not stream: the answer needs a deadline for each write, which starts again with each chunk.
	d.serve("Backup", true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(paced{w}, r) }))
}

// chunks sends what is written as one message each.
type chunks func(*chunk) error

// Write implements io.Writer.
func (c chunks) Write(b []byte) (int, error) {
	if err := c(&chunk{b}); err != nil {
		return 0, err
	}
	return len(b), nil
}

// backupClient is the part of a [Client] that takes backups.
type backupClient struct{ server *server }

// Backup implements hemera.Backups. Nil means that everything came, and says nothing of what is in it:
// that is for its reader to prove.
func (c backupClient) Backup(ctx context.Context, out io.Writer) error {
	return receive(ctx, c.server, "Backup", none{}, func(m *chunk) error {
		_, err := out.Write(m.Data)
		return err
	})
}
