package files

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// fileInfoCommand makes `hemera file info`. Users see files that they may see by path; details of disks are for admins.
// It makes one request. It fails with NotFound if neither the namespace nor, for an id, a disk has the file.
func fileInfoCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "info <file>", Short: "Everything known of a file or directory", Args: cobra.ExactArgs(1),
		Long: `Shows what the namespace has of a file or directory, and where its pieces and its copies on tape are. A file that is named
by its id may be gone from the namespace, or changed after the backup that was restored: then the disks
are asked too, and pieces that the namespace does not have are listed, with the path they remember.

  fid, fxid      the file's number, in decimal and hexadecimal; pid, pxid are its directory's
  layout         how the file is stored: plain, replica, rs:4+2 (4 data and 2 parity pieces), ...
  nstripes       the number of pieces that the layout has
  empty          the pieces that a small file of a coded layout has no bytes for: they are not stored,
                 and not missing
  role           of a piece: copy; data, parity, or local parity of the group that it repairs
  redundancy     d2::t1 is two pieces on disks and a copy on tape, d0::t1 is on tape only; a copy that
                 waits to be read back does not count yet: hemera tape why FILE
  sys.archive.*  how the file is archived, and sys.retrieve.* who recalls it and when it was asked for
  xstype, xs     the checksum that clients ask for; altxs.NAME are others that are stored`,
		Example: `  hemera file info /exp/data.root
  hemera file info fxid:0000002a -j`,
		ValidArgsFunction: complete.Paths(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				ref, err := fileRef(e, args[0])
				if err != nil {
					return err
				}
				report, err := m.Maint.FileInfo(ctx, hemera.Identity{}, ref)
				if err != nil {
					return err
				}
				return printFile(e, report)
			})
		},
	}
}

// printFile prints a file, its pieces, and pieces on disks that the namespace does not have. Programs get the file, its
// pieces and the strays as records of one list; people get three tables.
func printFile(e *cli.Env, report adminapi.FileReport) error {
	head := fileRecord(report)
	var pieces, tapes, strays []output.Record
	for _, p := range report.Pieces {
		pieces = append(pieces, pieceRecord(report.Entry.Layout, p))
	}
	for _, c := range report.Entry.Tape {
		tapes = append(tapes, tapeRecord(c))
	}
	for _, s := range report.Strays {
		strays = append(strays, strayRecord(s))
	}
	p := e.Printer()
	switch {
	case p.Format != output.Table:
		return p.List(nil, slices.Concat([]output.Record{head}, pieces, tapes, strays))
	case report.Entry.IsDir(): // directories have no pieces
		return p.One(cli.ColumnsOf(head), head)
	}
	if err := p.Head(cli.ColumnsOf(head), head); err != nil {
		return err
	}
	if len(pieces) > 0 || len(strays) == 0 && len(tapes) == 0 { // an empty table means that no piece is left
		fmt.Fprintln(e.Out)
		columns := pieceColumns
		if report.Entry.Layout.Coded() { // all pieces of other files are copies
			columns = slices.Insert(slices.Clone(columns), 1, output.Column{Title: "role", Key: "role"})
		}
		if err := p.List(columns, pieces); err != nil {
			return err
		}
		if n := len(report.Empty); n > 0 {
			fmt.Fprintf(e.Out, "%s empty, as the file is too small to have bytes there: no. %s; nothing is missing\n", output.Count(int64(n), "piece"), numbers(report.Empty))
		}
	}
	if len(tapes) > 0 {
		fmt.Fprintln(e.Out)
		if err := p.List(tapeColumns, tapes); err != nil {
			return err
		}
	}
	if len(strays) == 0 {
		return nil
	}
	fmt.Fprintln(e.Out, "\npieces that the namespace does not have:")
	return p.List(strayColumns, strays)
}

// numbers returns indexes of pieces, separated by commas.
func numbers(indexes []uint8) string {
	texts := make([]string, len(indexes))
	for i, index := range indexes {
		texts[i] = strconv.Itoa(int(index))
	}
	return strings.Join(texts, ",")
}

// tapeRecord makes the record of a copy on tape, with the keys of cta-admin tapefile ls.
func tapeRecord(c hemera.TapeCopy) output.Record {
	return output.Record{
		{Key: "copyNb", Value: int(c.Number)}, {Key: "vid", Value: string(c.VID)}, {Key: "fSeq", Value: c.FSeq}, {Key: "blockId", Value: c.Block},
		{Key: "member", Value: c.Member}, // of a container; 0: the tape file is this file alone
	}
}

// tapeColumns has the columns of copies on tape.
var tapeColumns = []output.Column{
	{Title: "copy", Key: "copyNb"},   // of those that the storage class asks for
	{Title: "tape", Key: "vid"},      // its name
	{Title: "fseq", Key: "fSeq"},     // number of the tape file on the tape
	{Title: "block", Key: "blockId"}, // where it begins
	{Title: "member", Key: "member"}, // of a container, from 1
}

// strayRecord makes the record of a piece that a disk has and the namespace does not. Its values come from the footer of
// the piece.
func strayRecord(s adminapi.Stray) output.Record {
	return output.Record{
		{Key: "tag", Value: s.Tag}, {Key: "no", Value: int(s.Piece.ID.Index)}, {Key: "fsid", Value: uint32(s.Disk)}, {Key: "host", Value: s.Host}, // fsid is the number of the disk
		{Key: "generation", Value: uint64(s.Piece.ID.Gen)}, {Key: "size", Value: s.Piece.FileSize}, {Key: "layout", Value: s.Piece.Layout.String()}, // size is that of the file, in bytes
		{Key: "sealed", Value: cli.Unix(s.Piece.Sealed)}, {Key: "path", Value: s.Piece.Path}, // seconds since 1970
	}
}

// strayColumns has the columns of the second table of file info.
var strayColumns = []output.Column{
	{Title: "tag", Key: "tag"},               // orphan, newer and so on; see fsck
	{Title: "no.", Key: "no"},                // index of the piece in the layout
	{Title: "disk", Key: "fsid"},             // id
	{Title: "host", Key: "host"},             // of the node
	{Title: "generation", Key: "generation"}, // of the content that the piece belongs to
	{Title: "size", Key: "size", Show: output.Bytes},
	{Title: "sealed", Key: "sealed", Show: output.Time}, // when its write ended
	{Title: "path", Key: "path"},                        // on the disk
}

// fileRecord makes the record of an entry, with the keys of eos file info. Times are text in UTC with nanoseconds.
func fileRecord(report adminapi.FileReport) output.Record {
	en := report.Entry
	if en.Birth.IsZero() && len(report.Strays) > 0 { // disks know it, the namespace does not
		return output.Record{{Key: "file", Value: report.Path}, {Key: "status", Value: report.Status}, {Key: "fxid", Value: en.ID.Hex()}, {Key: "fid", Value: uint64(en.ID)}}
	}
	r := output.Record{
		{Key: cli.OnOff(en.IsDir(), "directory", "file"), Value: report.Path}, {Key: "status", Value: report.Status}, {Key: "flags", Value: fmt.Sprintf("%04o", en.Mode)}, // flags are permission bits, in octal
		{Key: "size", Value: onOffSize(en)}, {Key: "mtime", Value: cli.Stamp(en.Mtime)}, {Key: "ctime", Value: cli.Stamp(en.Ctime)}, {Key: "btime", Value: cli.Stamp(en.Birth)}, // bytes; times in UTC
		{Key: "uid", Value: en.UID}, {Key: "gid", Value: en.GID}, {Key: "fxid", Value: en.ID.Hex()}, {Key: "fid", Value: uint64(en.ID)}, // fxid is fid in hexadecimal
		{Key: "pid", Value: uint64(en.Parent)}, {Key: "pxid", Value: en.Parent.Hex()}, // the directory
	}
	if en.IsDir() {
		return append(r, output.Record{{Key: "treefiles", Value: en.Tree.Files}, {Key: "treedirs", Value: en.Tree.Dirs}, {Key: "treebytes", Value: en.Tree.Bytes}}...)
	}
	r = append(r, output.Record{
		{Key: "generation", Value: uint64(en.Gen)}, {Key: "layout", Value: cli.LayoutName(en.Layout)}, {Key: "nstripes", Value: int(en.Layout.Pieces)}, // redundancy: EOS's d<pieces on disk>::t<on tape>
		{Key: "space", Value: string(en.Space)}, {Key: "nrep", Value: len(report.Pieces)}, {Key: "redundancy", Value: redundancy(en, len(report.Pieces))},
	}...)
	// The system's attributes about the file on tape.
	for _, name := range slices.Sorted(maps.Keys(en.Xattrs)) {
		if strings.HasPrefix(name, "sys.archive.") || strings.HasPrefix(name, "sys.retrieve.") {
			r = append(r, output.Field{Key: name, Value: string(en.Xattrs[name])})
		}
	}
	if en.Layout.Coded() {
		r = append(r, output.Field{Key: "blocksize", Value: hemera.FormatBlockSize(en.Layout.BlockSize)})
		if len(report.Empty) > 0 {
			r = append(r, output.Field{Key: "empty", Value: numbers(report.Empty)}) // pieces that so small a file has no bytes for
		}
	}
	// The first checksum is the one that clients request.
	for i, c := range en.Checksums {
		if i == 0 {
			r = append(r, output.Field{Key: "xstype", Value: c.Kind.String()}, output.Field{Key: "xs", Value: c.Hex()})
			continue
		}
		r = append(r, output.Field{Key: "altxs." + c.Kind.String(), Value: c.Hex()})
	}
	return r
}

// onOffSize returns the size of a file, or for a directory the sum of all files below it, in bytes.
func onOffSize(e hemera.Entry) int64 {
	if e.IsDir() {
		return e.Tree.Bytes
	}
	return e.Size
}

// pieceRecord makes the record of a piece and its disk, in the manager's present view.
func pieceRecord(l hemera.Layout, p adminapi.PieceReport) output.Record {
	d := p.Disk
	return output.Record{
		{Key: "no", Value: int(p.Piece.Index)}, {Key: "role", Value: l.Role(p.Piece.Index)}, {Key: "fsid", Value: uint32(p.Piece.Disk)}, {Key: "host", Value: p.Host}, {Key: "schedgroup", Value: string(d.Space) + ".0"}, // fsid is the number of the disk
		{Key: "path", Value: d.Path}, {Key: "health", Value: healthOf(d)}, {Key: "configstatus", Value: string(d.Config)}, // of the disk
		{Key: "active", Value: cli.OnOff(d.Active, "online", "offline")}, {Key: "geotag", Value: d.Zone}, // whether the disk can be read now
	}
}

// pieceColumns has the columns of the first table of file info.
var pieceColumns = []output.Column{
	{Title: "no.", Key: "no"},
	{Title: "disk", Key: "fsid"},
	{Title: "host", Key: "host"},
	{Title: "group", Key: "schedgroup", Wide: 1},
	{Title: "path", Key: "path"},                 // of the disk on its node
	{Title: "health", Key: "health"},             // of the disk
	{Title: "configstatus", Key: "configstatus"}, // what an admin wants of the disk
	{Title: "active", Key: "active"},             // whether the disk can be read now
	{Title: "zone", Key: "geotag", Wide: 1},      // failure domain of the disk
}

// healthOf returns the health of a piece's disk. A disk that is inactive and not gone is inactive because of its node;
// its own health is unknown.
func healthOf(d hemera.Disk) string {
	if !d.Active && d.Health != hemera.HealthGone {
		return "unknown"
	}
	return string(d.Health)
}
