package admin

import (
	"context"
	"io"

	"hemera/words/adminapi"
)

// Backups takes backups. It implements adminapi.Backups.
type Backups struct{ server *server }

// Backup implements adminapi.Backups. Nil means that everything came, and says nothing of what is in it:
// that is for its reader to prove.
func (c Backups) Backup(ctx context.Context, out io.Writer) error {
	return receive(ctx, c.server, "Backup", adminapi.None{}, func(m *adminapi.Chunk) error {
		_, err := out.Write(m.Data)
		return err
	})
}
