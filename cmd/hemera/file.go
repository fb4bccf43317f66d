package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

func fileCommand(e *env) *cobra.Command {
	c := noun("file", "One file: where its pieces are, and whether they are whole",
		fileInfoCommand(e), fileCheckCommand(e, "check", false), fileCheckCommand(e, "verify", true))
	c.Long = `Files are named by path, by id as fid:<decimal> or fxid:<hexadecimal>, or by URL. Directories and
files share their ids: pid:, pxid: and inode: are taken too.`
	c.Example = `  hemera file info /exp/data.root        where are its pieces?
  hemera file check /exp/data.root       are they whole? All of them are read.`
	return c
}

func fileInfoCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "info <file>", Short: "Everything known of a file or directory", Args: cobra.ExactArgs(1),
		Long: `Shows what the namespace has of a file or directory, and where its pieces are. A file that is named
by its id may be gone from the namespace, or changed after the backup that was restored: then the disks
are asked too, and pieces that the namespace does not have are listed, with the path they remember.

  fid, fxid      the file's number, in decimal and hexadecimal; pid, pxid are its directory's
  redundancy     d2::t0 is two pieces on disks and none on tape
  xstype, xs     the checksum that clients ask for; altxs.NAME are others that are stored`,
		Example: `  hemera file info /exp/data.root
  hemera file info fxid:0000002a -j`,
		ValidArgsFunction: completePaths(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				ref, err := e.fileRef(args[0])
				if err != nil {
					return err
				}
				report, err := m.FileInfo(ctx, ref)
				if err != nil {
					return err
				}
				return e.printFile(report)
			})
		},
	}
}

// fileRef takes ids as they are and paths without the mark of a remote path.
func (e *env) fileRef(s string) (string, error) {
	for _, prefix := range []string{"fid:", "fxid:", "pid:", "pxid:", "cid:", "cxid:", "inode:"} {
		if strings.HasPrefix(s, prefix) {
			return s, nil
		}
	}
	return e.onManager(s)
}

func (e *env) printFile(report hemera.FileReport) error {
	head := fileRecord(report)
	var pieces, strays []output.Record
	for _, p := range report.Pieces {
		pieces = append(pieces, pieceRecord(p))
	}
	for _, s := range report.Strays {
		strays = append(strays, strayRecord(s))
	}
	p := e.printer()
	switch {
	case p.Format != output.Table:
		return p.List(nil, slices.Concat([]output.Record{head}, pieces, strays))
	case report.Entry.IsDir():
		return p.One(columnsOf(head), head)
	}
	if err := p.Head(columnsOf(head), head); err != nil {
		return err
	}
	if len(pieces) > 0 || len(strays) == 0 {
		fmt.Fprintln(e.Out)
		if err := p.List(pieceColumns, pieces); err != nil {
			return err
		}
	}
	if len(strays) == 0 {
		return nil
	}
	fmt.Fprintln(e.Out, "\npieces that the namespace does not have:")
	return p.List(strayColumns, strays)
}

func strayRecord(s hemera.Stray) output.Record {
	return output.Record{
		{Key: "tag", Value: s.Tag}, {Key: "no", Value: int(s.Piece.ID.Index)}, {Key: "fsid", Value: uint32(s.Disk)}, {Key: "host", Value: s.Host},
		{Key: "generation", Value: uint64(s.Piece.ID.Gen)}, {Key: "size", Value: s.Piece.FileSize}, {Key: "layout", Value: s.Piece.Layout.String()},
		{Key: "sealed", Value: unix(s.Piece.Sealed)}, {Key: "path", Value: s.Piece.Path},
	}
}

var strayColumns = []output.Column{
	{Title: "tag", Key: "tag"},
	{Title: "no.", Key: "no"},
	{Title: "disk", Key: "fsid"},
	{Title: "host", Key: "host"},
	{Title: "generation", Key: "generation"},
	{Title: "size", Key: "size", Show: output.Bytes},
	{Title: "sealed", Key: "sealed", Show: output.Time},
	{Title: "path", Key: "path"},
}

func fileRecord(report hemera.FileReport) output.Record {
	en := report.Entry
	if en.Birth.IsZero() && len(report.Strays) > 0 { // disks know it, the namespace does not
		return output.Record{{Key: "file", Value: report.Path}, {Key: "status", Value: report.Status}, {Key: "fxid", Value: en.ID.Hex()}, {Key: "fid", Value: uint64(en.ID)}}
	}
	r := output.Record{
		{Key: onOff(en.IsDir(), "directory", "file"), Value: report.Path}, {Key: "status", Value: report.Status}, {Key: "flags", Value: fmt.Sprintf("%04o", en.Mode)},
		{Key: "size", Value: onOffSize(en)}, {Key: "mtime", Value: stamp(en.Mtime)}, {Key: "ctime", Value: stamp(en.Ctime)}, {Key: "btime", Value: stamp(en.Birth)},
		{Key: "uid", Value: en.UID}, {Key: "gid", Value: en.GID}, {Key: "fxid", Value: en.ID.Hex()}, {Key: "fid", Value: uint64(en.ID)},
		{Key: "pid", Value: uint64(en.Parent)}, {Key: "pxid", Value: en.Parent.Hex()},
	}
	if en.IsDir() {
		return append(r, output.Record{{Key: "treefiles", Value: en.Tree.Files}, {Key: "treedirs", Value: en.Tree.Dirs}, {Key: "treebytes", Value: en.Tree.Bytes}}...)
	}
	r = append(r, output.Record{
		{Key: "generation", Value: uint64(en.Gen)}, {Key: "layout", Value: en.Layout.Kind.String()}, {Key: "nstripes", Value: int(en.Layout.Pieces)},
		{Key: "space", Value: en.Space}, {Key: "nrep", Value: len(report.Pieces)}, {Key: "redundancy", Value: fmt.Sprintf("d%d::t0", len(report.Pieces))},
	}...)
	for i, c := range en.Checksums {
		if i == 0 {
			r = append(r, output.Field{Key: "xstype", Value: c.Kind.String()}, output.Field{Key: "xs", Value: c.Hex()})
			continue
		}
		r = append(r, output.Field{Key: "altxs." + c.Kind.String(), Value: c.Hex()})
	}
	return r
}

// onOffSize is a file's size, and a directory's total.
func onOffSize(e hemera.Entry) int64 {
	if e.IsDir() {
		return e.Tree.Bytes
	}
	return e.Size
}

func pieceRecord(p hemera.PieceReport) output.Record {
	d := p.Disk
	return output.Record{
		{Key: "no", Value: int(p.Piece.Index)}, {Key: "fsid", Value: uint32(p.Piece.Disk)}, {Key: "host", Value: p.Host}, {Key: "schedgroup", Value: d.Group},
		{Key: "path", Value: d.Path}, {Key: "health", Value: string(d.Health)}, {Key: "configstatus", Value: string(d.Config)},
		{Key: "active", Value: onOff(d.Active, "online", "offline")}, {Key: "geotag", Value: d.Zone},
	}
}

var pieceColumns = []output.Column{
	{Title: "no.", Key: "no"},
	{Title: "disk", Key: "fsid"},
	{Title: "host", Key: "host"},
	{Title: "group", Key: "schedgroup", Wide: 1},
	{Title: "path", Key: "path"},
	{Title: "health", Key: "health"},
	{Title: "configstatus", Key: "configstatus"},
	{Title: "active", Key: "active"},
	{Title: "zone", Key: "geotag", Wide: 1},
}

func fileCheckCommand(e *env, verb string, repair bool) *cobra.Command {
	long := "Has every piece of the file read from its disk and checked, page by page and as a whole.\n"
	if repair {
		long += "Bad pages are put right from other pieces. A piece that cannot be repaired in place is made\nanew on another disk (remade).\n"
	}
	c := &cobra.Command{
		Use: verb + " <file>", Args: cobra.ExactArgs(1), ValidArgsFunction: completePaths(e),
		Short:   onOff(repair, "Read and check every piece, and repair bad pages from good ones", "Read and check every piece; change nothing"),
		Long:    long + "The exit code is 1 when a piece is " + onOff(repair, "still bad at the end, or out of reach.", "bad, or out of reach."),
		Example: "  hemera file " + verb + " /exp/data.root",
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				ref, err := e.fileRef(args[0])
				if err != nil {
					return err
				}
				checks, err := m.CheckFile(ctx, ref, repair)
				if err != nil {
					return err
				}
				return e.printChecks(checks, repair)
			})
		},
	}
	return c
}

func (e *env) printChecks(checks []hemera.PieceCheck, repair bool) error {
	var records []output.Record
	bad, offline := 0, 0
	for _, c := range checks {
		sums := make([]string, len(c.Checksums))
		for i, s := range c.Checksums {
			sums[i] = s.String()
		}
		result := onOff(c.OK, "ok", "bad")
		switch {
		case !c.OK && c.Repaired:
			result = "remade" // on another disk
		case c.Offline:
			result = "offline"
			offline++
		case !c.OK:
			bad++
		}
		records = append(records, output.Record{
			{Key: "no", Value: int(c.Piece.Index)}, {Key: "fsid", Value: uint32(c.Piece.Disk)}, {Key: "host", Value: c.Host},
			{Key: "result", Value: result}, {Key: "size", Value: c.Size}, {Key: "checksums", Value: strings.Join(sums, ",")},
			{Key: "badpages", Value: c.BadPages}, {Key: "repaired", Value: onOff(c.Repaired, "yes", "no")}, {Key: "error", Value: c.Error},
		})
	}
	return e.printCheckRecords(records, checkVerdict(len(records), bad, offline, repair))
}

// checkVerdict is the error that a check ends with, if pieces are bad or could not be asked.
func checkVerdict(pieces, bad, offline int, repair bool) error {
	switch {
	case bad == 0 && offline == 0:
		return nil
	case bad == 0:
		return errs.New(errs.Unavailable, "check", "", fmt.Sprintf("%d of %d pieces are out of reach", offline, pieces)).
			WithRemedy("see hemera fs ls -e; what stays away is made anew elsewhere after the grace")
	}
	text := fmt.Sprintf("%d of %d pieces are bad", bad, pieces)
	if offline > 0 {
		text += fmt.Sprintf(", %d out of reach", offline)
	}
	return errs.New(errs.Corrupt, "check", "", text).
		WithRemedy(onOff(repair, "no other piece has what they lack now; if a disk is out of reach, bring it back and try again",
			"hemera file verify repairs what other pieces can repair"))
}

// printCheckRecords ends with the verdict: the exit code says it, and JSON too.
func (e *env) printCheckRecords(records []output.Record, verdict error) error {
	if verdict == nil || !e.json {
		if err := e.printer().List(checkColumns, records); err != nil {
			return err
		}
		return verdict
	}
	s := e.stream(nil)
	for _, r := range records {
		if err := s.Add(r); err != nil {
			return err
		}
	}
	return verdict
}

var checkColumns = []output.Column{
	{Title: "no.", Key: "no"},
	{Title: "disk", Key: "fsid"},
	{Title: "host", Key: "host"},
	{Title: "result", Key: "result"},
	{Title: "size", Key: "size"},
	{Title: "checksums", Key: "checksums"},
	{Title: "badpages", Key: "badpages"},
	{Title: "repaired", Key: "repaired", Wide: 1},
	{Title: "error", Key: "error"},
}
