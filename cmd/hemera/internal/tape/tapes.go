package tape

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// The catalogue has a record for each tape. Tapes are named by their VID, which is the first six characters of the
// barcode. Cartridges that a library reports and the catalogue does not know are left alone.

// tapeCommand makes `hemera tape tape`, the commands for single tapes. The noun is there twice as in CTA's "cta-admin
// tape".
func tapeCommand(e *cli.Env) *cobra.Command {
	ls := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List tapes", Args: cobra.NoArgs,
		Long: `Lists the tapes of the catalogue with the columns of "cta-admin ta ls". occupancy is what was written
to the tape, of files that were removed since too; files and data are what is in the tree.`,
		Example: `  hemera tape tape ls
  hemera tape tape ls -j`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				records, err := loadTapes(ctx, m)
				if err != nil {
					return err
				}
				return e.List(tapeColumns(), inForm(e, "tape", records), "no tape is in the catalogue; `hemera tape tape add VID` adds one")
			})
		},
	}
	tapes := listing{noun: "tape", keys: []string{"vid"}, columns: fixed(tapeColumns()), load: loadTapes, page: true,
		also: func(vid string, s tapeapi.Session) bool { return string(s.VID) == vid }}
	return noun("tape", "Tapes: list, add, change, remove, and what is on them", ls, showCommand(e, tapes), whyOf(e, "tape"), tapeFilesCommand(e),
		changeCommand(e, "tape", "add"), changeCommand(e, "tape", "set"), changeCommand(e, "tape", "remove"))
}

// loadTapes reads all tapes of the catalogue.
func loadTapes(ctx context.Context, m *admin.Client) (records []output.Record, err error) {
	all, err := m.Tape.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	p, err := m.Tape.TapePicture(ctx)
	if err != nil {
		return nil, err
	}
	organisations := map[string]string{} // by pool
	for _, pool := range p.Pools {
		organisations[pool.Name] = pool.Organisation
	}
	for i := range all {
		records = append(records, tapeRecord(&all[i], organisations[string(all[i].Pool)]))
	}
	return records, nil
}

// tapeRecord returns a tape as a record with CTA's keys.
func tapeRecord(t *tapeapi.Tape, organisation string) output.Record {
	// Unknown times are 0, as in CTA.
	unix := func(at interface{ Unix() int64 }, zero bool) int64 {
		if zero {
			return 0
		}
		return at.Unix()
	}
	return output.Record{
		// The tape, and its place.
		{Key: "vid", Value: string(t.VID)}, {Key: "mediaType", Value: t.MediaType}, {Key: "vendor", Value: t.Vendor}, {Key: "logicalLibrary", Value: t.Library},
		// Its purpose, and its content.
		{Key: "tapepool", Value: string(t.Pool)}, {Key: "encryptionKeyName", Value: t.Key}, {Key: "capacity", Value: t.Capacity}, {Key: "occupancy", Value: t.Occupancy},
		{Key: "lastFseq", Value: t.LastFSeq}, {Key: "nbMasterFiles", Value: t.Files}, {Key: "masterDataInBytes", Value: t.Bytes}, {Key: "full", Value: t.Full},
		// Its state.
		{Key: "state", Value: string(t.State)}, {Key: "stateReason", Value: t.Reason},
		// Its history, with times.
		{Key: "labelDrive", Value: t.LabelBy}, {Key: "labelTime", Value: unix(t.Labelled, t.Labelled.IsZero())},
		{Key: "lastWrittenDrive", Value: t.WrittenBy}, {Key: "lastWrittenTime", Value: unix(t.Written, t.Written.IsZero())}, {Key: "writeMountCount", Value: t.Writes},
		{Key: "lastReadDrive", Value: t.ReadBy}, {Key: "lastReadTime", Value: unix(t.Read, t.Read.IsZero())}, {Key: "readMountCount", Value: t.Reads},
		{Key: "verifiedTime", Value: unix(t.Verified, t.Verified.IsZero())},
		{Key: "vo", Value: organisation}, {Key: "purchaseOrder", Value: ""}, {Key: "fromCastor", Value: false}, {Key: "instanceName", Value: ""},
		{Key: "modificationTime", Value: unix(t.Changed, t.Changed.IsZero())}, {Key: "modifiedBy", Value: t.ChangedBy},
		{Key: "creationTime", Value: unix(t.Made, t.Made.IsZero())}, {Key: "createdBy", Value: t.MadeBy}, {Key: "comment", Value: t.Comment},
	}
}

// tapeColumns returns the table of tape ls.
func tapeColumns() []output.Column {
	return []output.Column{
		{Title: "vid", Key: "vid"}, // volume id
		{Title: "media type", Key: "mediaType", Wide: 2},
		{Title: "library", Key: "logicalLibrary", Wide: 3},
		{Title: "tapepool", Key: "tapepool"}, // that it is written for
		{Title: "encryption key name", Key: "encryptionKeyName", Wide: 6},
		{Title: "capacity", Key: "capacity", Show: output.Bytes, Wide: 1},
		{Title: "occupancy", Key: "occupancy", Show: output.Bytes}, // of removed files too
		{Title: "last fseq", Key: "lastFseq", Wide: 2},
		{Title: "files", Key: "nbMasterFiles"}, // of the tree
		{Title: "data", Key: "masterDataInBytes", Show: output.Bytes},
		{Title: "full", Key: "full"},   // nothing more is written
		{Title: "state", Key: "state"}, // CTA's words
		{Title: "last written", Key: "lastWrittenTime", Show: output.Time, Wide: 4},
		{Title: "last read", Key: "lastReadTime", Show: output.Time, Wide: 5},
		{Title: "state reason", Key: "stateReason"}, // needed for all but ACTIVE
		{Title: "comment", Key: "comment", Wide: 6},
	}
}

// tapeFilesCommand makes `hemera tape tape files`.
func tapeFilesCommand(e *cli.Env) *cobra.Command {
	var dead bool
	c := &cobra.Command{
		Use: "files <vid>", Short: "List what is on a tape", Args: cobra.ExactArgs(1),
		Long: `Lists the files on a tape in their order there, with the columns of "cta-admin tf ls". With --removed
also what was removed from the tree: it can be undeleted until the tape is reclaimed.`,
		Example: "  hemera tape tape files V00001 --removed",
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				s := e.Stream(func(r output.Record) string {
					return strings.Join([]string{text(r, "archiveId"), "copy " + text(r, "copyNb"), "fseq " + text(r, "fSeq"), "block " + text(r, "blockId"),
						output.Bytes(r.Get("size")), "fxid:" + text(r, "fxid"), text(r, "removed")}, "  ")
				})
				// The list goes page by page: a tape has millions of files.
				for after := uint64(0); ; {
					files, err := m.Tape.TapeFiles(ctx, hemera.VID(args[0]), after, dead)
					if err != nil {
						return err
					}
					for _, f := range files {
						if err := s.Add(tapeFileRecord(f)); err != nil {
							return err
						}
						after = f.FSeq
					}
					if len(files) == 0 {
						return s.Close()
					}
				}
			})
		},
	}
	c.Flags().BoolVar(&dead, "removed", false, "also files that were removed from the tree")
	return c
}

// text returns a value of a record as text.
func text(r output.Record, key string) string {
	return strings.TrimPrefix(output.MonitorLine(output.Record{{Key: "x", Value: r.Get(key)}}), "x=")
}

// tapeFileRecord returns a file on tape as a record. The path is not in it, because it may have changed since; `hemera
// file info fxid:…` shows the path.
func tapeFileRecord(f tapeapi.File) output.Record {
	removed := "" // it is in the tree
	if f.Dead != nil {
		removed = "removed from " + f.Dead.Path + ": " + f.Dead.Why
	}
	return output.Record{
		{Key: "archiveId", Value: f.ArchiveID}, {Key: "copyNb", Value: f.Number}, {Key: "vid", Value: string(f.VID)}, {Key: "fSeq", Value: f.FSeq},
		{Key: "blockId", Value: f.Block}, {Key: "fxid", Value: f.File.Hex()}, {Key: "size", Value: f.Size}, {Key: "removed", Value: removed},
	}
}

// changeCommand makes add, set or remove of one kind of object. Values with spaces are quoted for the shell.
func changeCommand(e *cli.Env, object, verb string) *cobra.Command {
	use := map[string]string{"add": "add <name> [key=value]…", "set": "set <name> key=value…", "remove": "rm <name>"}[verb]
	return &cobra.Command{
		Use: use, Short: map[string]string{"add": "Add ", "set": "Change ", "remove": "Remove "}[verb] + article(object), Args: cobra.MinimumNArgs(1),
		Long: "The keys are those of -j. The manager says which it knows when one is wrong, and what is in the way of a removal.",
		Example: map[string]string{
			"add": "  hemera tape " + object + " add " + examples(object), "set": "  hemera tape " + object + " set NAME comment=\"kept for run 3\"", "remove": "  hemera tape " + object + " rm NAME",
		}[verb],
		RunE: func(c *cobra.Command, args []string) error {
			values := map[string]string{}
			// The manager checks the keys.
			for _, arg := range args[1:] {
				key, value, ok := strings.Cut(arg, "=")
				if !ok {
					return cli.Usage(errs.New(errs.Invalid, "hemera.Tape", arg, "it is not of the form key=value"))
				}
				values[key] = value
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				err := m.Tape.ChangeTape(ctx, "", adminapi.TapeChange{Object: object, Verb: verb, Name: args[0], Values: values})
				if err == nil {
					e.Say("%s %s: done", object, args[0])
				}
				return err
			})
		},
	}
}

// examples returns a name and the needed values of a new object, for the help.
func examples(object string) string {
	if keys := map[string]string{
		"class": "raw nbCopies=2 vo=default", "route": "raw/2 storageClass=raw copyNumber=2 tapepool=second", "rule": "reco requester=alice activityRegex=reco.* mountPolicy=urgent",
		"policy": "urgent archivePriority=10 retrievePriority=20", "pool": "second vo=default", "tape": "V00021 tapepool=second",
	}[object]; keys != "" {
		return keys
	}
	return "NAME comment=\"made for a test\""
}
