package server

import (
	"context"
	"errors"
	"time"

	"hemera/tape/device"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

const (
	// scanBatch is the number of records in one report: as many as the manager takes in a second or two.
	scanBatch = 2000
	// scanPause is after what time records are reported that are fewer: labels of large files take seconds each.
	scanPause = 5 * time.Second
)

// scanning is a scan of a tape. Reports are durable one by one: a scan that fails in the middle has told of the newest files.
type scanning struct {
	k    desk
	out  tapeapi.ScanResults
	sent time.Time
}

// scan reports which files are on the tape, the last one first, and counts them in the figures.
func (k desk) scan(ctx context.Context, v *volume.Volume, figures *tapeapi.Session) error {
	now := k.d.server.o.Now
	begun := now()
	s := &scanning{k: k, sent: begun}
	written := int64(0)
	err := v.Scan(ctx, volume.ScanOptions{Data: k.mount.Data, After: k.mount.After}, func(r volume.Record) error {
		// The first record is the last tape file, which an append compares; a container comes before its members when they are read from it.
		if s.out.End.FSeq == 0 {
			s.out.End = tapeapi.End{FSeq: r.FSeq, ArchiveID: endID(r)}
		}
		if r.Kind != volume.KindMember && r.FSeq > k.mount.After {
			written += volume.BytesOnTape(r.Size)
		}
		// Indexes, containers themselves and dead files are of no file.
		if r.Kind != volume.KindFile && r.Kind != volume.KindMember {
			return nil
		}
		s.out.Files = append(s.out.Files, scanned(r))
		figures.Files, figures.Bytes = figures.Files+1, figures.Bytes+r.Size
		if len(s.out.Files) < scanBatch && now().Sub(s.sent) < scanPause {
			return nil
		}
		return s.send(ctx, *figures, begun)
	})
	// Also of a scan that failed: people see how far it came.
	figures.Elapsed = now().Sub(begun)
	if err != nil {
		return k.locked(err)
	}
	s.out.Complete, s.out.End.Bytes = true, written
	return s.send(ctx, *figures, begun)
}

// locked says of a scan that met an encrypted block what is to be done, and in the text: people see the text only.
func (k desk) locked(err error) error {
	if !errors.Is(err, device.ErrEncrypted) {
		return err
	}
	// The cause names the key, where the writer of the tape left its name.
	vid, set := k.mount.VID, "set"
	if k.mount.Labels.Media == "" { // the catalogue does not have the tape
		set = "add"
	}
	what := "what is on the tape is encrypted, and the catalogue does not say with which key"
	if name := k.mount.Labels.Key.Name; name != "" {
		what = "what is on the tape is encrypted with another key than " + name
	}
	text := what + "; add the key (hemera tape key add NAME --from FILE), name it (hemera tape tape " + set + " " + string(vid) + " encryptionKeyName=NAME) and scan the tape again"
	return &errs.Error{Kind: errs.KindOf(err), Op: "tape.Scan", Subject: string(vid), Text: text, Cause: err}
}

// endID returns the archive id of the tape file that a record is of, or is in.
func endID(r volume.Record) uint64 {
	// A container is one tape file, and its labels have an archive id of their own.
	if r.Kind == volume.KindMember {
		return volume.ContainerID(r.FSeq)
	}
	return r.ArchiveID
}

// send reports what was found since the last report.
func (s *scanning) send(ctx context.Context, figures tapeapi.Session, begun time.Time) error {
	// Retried until it is answered, and taken by the manager as often as it comes.
	s.k.sign(&figures, begun, "")
	report := s.out // what the manager keeps of it is its own
	err := s.k.done(ctx, tapeapi.Results{Scan: &report, Session: figures})
	s.out.Files, s.sent = nil, s.k.d.server.o.Now()
	return err
}

// scanned returns a record as the manager knows it.
func scanned(r volume.Record) tapeapi.Scanned {
	s := tapeapi.Scanned{
		Written: tapeapi.Written{ArchiveID: r.ArchiveID, FSeq: r.FSeq, Block: r.Block, Member: r.Member, Size: r.Size},
		File:    r.File, Path: r.Path, Sums: r.Sums, Owner: hemera.FileOwner{UID: r.UID, GID: r.GID, Mode: r.Mode}, Mtime: r.Mtime, Class: r.Class, Copy: r.Copy,
	}
	// The catalogue compares this one with what a recall reads.
	for _, sum := range r.Sums {
		if sum.Kind == hemera.Adler32 {
			s.Written.Sum = sum
		}
	}
	return s
}
