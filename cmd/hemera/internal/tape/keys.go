package tape

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/process/statedir"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// A key has a name, which all commands show, and a secret, which none shows: to get the secret, copy the file from the
// manager's directory.

// keyCommand makes `hemera tape key`.
func keyCommand(e *cli.Env) *cobra.Command {
	keys := listing{noun: "key", keys: []string{"name"}, columns: fixed(keyColumns()), load: loadKeys}
	c := noun("key", "Encryption keys: list, add, remove", keyListCommand(e), showCommand(e, keys), keyAddCommand(e), changeCommand(e, "key", "set"), keyRemoveCommand(e))
	c.Long = `Drives encrypt the tapes of a pool that has a key. A tape keeps the key that it was begun with; another
key of its pool is for tapes that are written from their beginning. The secrets are files in the manager's
directory, tape-keys/NAME.key, and are in its backups. Without the secret nothing on its tapes can be read.`
	return c
}

// keyListCommand makes `hemera tape key ls`. A key with a problem is also in `hemera tape status`, with the command that
// restores it.
func keyListCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List encryption keys and what uses them", Args: cobra.NoArgs,
		Long: `Lists the keys with their fingerprint (the first 8 bytes of the SHA-256 of the secret), the pools whose new
tapes they are for, the tapes that were written with them, and why one cannot be used.`,
		Example: "  hemera tape key ls\n  hemera tape key ls -j",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				records, err := loadKeys(ctx, m)
				if err != nil {
					return err
				}
				return e.List(keyColumns(), records, "there is no key; `hemera tape key add NAME` makes one")
			})
		},
	}
}

// loadKeys reads all keys.
func loadKeys(ctx context.Context, m *admin.Client) (records []output.Record, err error) {
	rows, err := m.Tape.TapeKeyList(ctx)
	for _, r := range rows {
		records = append(records, keyRecord(r))
	}
	return records, err
}

// keyRecord returns a key as a record, without its secret, which the manager does not send.
func keyRecord(r adminapi.TapeKeyRow) output.Record {
	made := int64(0)
	if !r.Made.IsZero() {
		made = r.Made.Unix()
	}
	// The names of counts are those that tapes and pools have.
	return output.Record{
		{Key: "name", Value: r.Name}, {Key: "fingerprint", Value: r.Fingerprint}, {Key: "pools", Value: strings.Join(r.Pools, ",")},
		{Key: "numTapes", Value: r.Tapes}, {Key: "nbMasterFiles", Value: r.Files}, {Key: "problem", Value: r.Problem},
		{Key: "createdBy", Value: r.MadeBy}, {Key: "creationTime", Value: made}, {Key: "comment", Value: r.Comment},
	}
}

// keyColumns returns the table of key ls.
func keyColumns() []output.Column {
	// The users of a key come before its maker, because most readers look for them.
	return []output.Column{
		{Title: "name", Key: "name"}, // as pools and tapes say it
		{Title: "fingerprint", Key: "fingerprint", Wide: 1},
		{Title: "pools", Key: "pools"},    // whose new tapes it is for
		{Title: "tapes", Key: "numTapes"}, // that were begun with it
		{Title: "files", Key: "nbMasterFiles"},
		{Title: "problem", Key: "problem"}, // empty when it can be used
		{Title: "created by", Key: "createdBy", Wide: 3}, {Title: "created", Key: "creationTime", Show: output.Time, Wide: 2}, {Title: "comment", Key: "comment", Wide: 4},
	}
}

// keyAddCommand makes `hemera tape key add`. It also restores a key that the manager has lost: the fingerprint shows
// whether it is the same key.
func keyAddCommand(e *cli.Env) *cobra.Command {
	var from, comment string
	c := &cobra.Command{
		Use: "add <name>", Short: "Make an encryption key, or take one over", Args: cobra.ExactArgs(1),
		Long: `Makes a key of 256 random bits. With --from it takes over one of 64 hexadecimal digits, from a file or from
standard input (-); so a key whose secret was lost at the manager comes back. The secret is in no argument,
which other users of the machine could see, and in no log.`,
		Example: `  hemera tape key add raw-2026
  hemera tape key add raw-2025 --from raw-2025.key`,
		RunE: func(c *cobra.Command, args []string) error {
			k := tapeapi.Key{Name: args[0]}
			if from != "" {
				// The command reads the file, because the user of the server may not be able to.
				var err error
				if k.Secret, err = readSecret(e, from); err != nil {
					return err
				}
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				row, err := m.Tape.AddTapeKey(ctx, "", k, comment)
				// The warning is printed each time: a lost key loses all files on its tapes.
				if err == nil {
					e.Say("key %s: fingerprint %s; back up the manager now (hemera ns backup), the only copy of the secret is on its disk", row.Name, row.Fingerprint)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&from, "from", "", "`file` with the key in hexadecimal digits; - for standard input")
	c.Flags().StringVar(&comment, "comment", "", "a `text` for those who read the list")
	return c
}

// readSecret reads the digits of a key. Its errors name the file, and contain nothing of it.
func readSecret(e *cli.Env, from string) (tapeapi.Secret, error) {
	const most = 4096 // bytes; a key has 64 digits
	// A file that is much too long cannot be a key, and is not read to its end.
	in := e.In
	if from != "-" {
		f, err := os.Open(from)
		if err != nil {
			return nil, errs.Wrap(err, "hemera.TapeKey", from)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return nil, errs.Wrap(err, "hemera.TapeKey", from)
	}
	s, err := statedir.ParseTapeSecret(b)
	return s, errs.Wrap(err, "hemera.TapeKey", from)
}

// keyRemoveCommand makes `hemera tape key rm`. It asks for consent, because data that was written with the key
// cannot be read afterwards.
func keyRemoveCommand(e *cli.Env) *cobra.Command {
	var consent cli.Consent
	c := &cobra.Command{
		Use: "rm <name>", Aliases: []string{"remove"}, Short: "Remove an encryption key that nothing uses", Args: cobra.ExactArgs(1),
		Long: `Removes a key and its secret, for ever. It is refused while a pool or a tape of the catalogue uses the key.
Cartridges that are not in the catalogue any more, and were written with it, cannot be read afterwards.`,
		Example: "  hemera tape key rm raw-2020 --dry-run",
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				// The manager refuses while something uses the key; the consent is for uses that it cannot know.
				stake := fmt.Sprintf("the secret of key %s goes for ever: what was written with it cannot be read any more", args[0])
				agreed, err := e.Agree(ctx, consent, "hemera.TapeKey", []string{stake})
				if err != nil || !agreed {
					return err
				}
				err = m.Tape.ChangeTape(ctx, "", adminapi.TapeChange{Object: "key", Verb: "remove", Name: args[0]})
				if err == nil {
					e.Say("key %s: done", args[0])
				}
				return err
			})
		},
	}
	consent.Flags(c)
	return c
}
