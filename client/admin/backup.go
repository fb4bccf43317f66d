package admin

import (
	"context"
	"io"

	"hemera/words/adminapi"
)

// Backups takes backups. It implements adminapi.Backups.
type Backups struct{ server *server }

// Backup implements adminapi.Backups. A nil error means that the archive arrived completely. Its reader has to verify the
// content.
func (c Backups) Backup(ctx context.Context, out io.Writer) error {
	return receive(ctx, c.server, "Backup", adminapi.None{}, func(m *adminapi.Chunk) error {
		_, err := out.Write(m.Data)
		return err
	})
}
