package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Read reads an archive and passes its content to visit. It returns the totals. A nil error means that no byte is
// missing, changed or added. It holds one frame in memory.
//
// Read fails with Corrupt if the archive is damaged, and with Unsupported if its format has another version. Errors of in
// other than its end, and errors of visit, are returned as they are. After an error the totals count the content read so
// far.
func Read(in io.Reader, visit Visitor) (Totals, error) {
	// Frames are decoded one at a time, so one goroutine is enough. The memory bound stops a small frame that would
	// decompress into all of memory.
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(frameMax))
	if err != nil {
		return Totals{}, errs.Wrap(err, "archive.Read", "")
	}
	defer decoder.Close()
	r := &reader{in: in, visit: visit, sum: sha256.New(), zstd: decoder}
	if err := r.begin(); err != nil {
		return r.totals, err
	}
	for {
		kind, content, err := r.next()
		if err != nil {
			return r.totals, err
		}
		if kind == kindEnd {
			return r.totals, r.end(content)
		}
		if err := r.take(kind, content); err != nil {
			return r.totals, err
		}
	}
}

// reader reads one archive.
type reader struct {
	in     io.Reader // not buffered: it is read in whole frames
	visit  Visitor
	sum    hash.Hash // of all frames read
	before []byte    // the sum before the frame read last
	zstd   *zstd.Decoder
	frame  []byte // reused
	plain  []byte // reused
	// last is a copy of the key before, because frames are reused. The first key must be greater than the empty one.
	last   []byte
	totals Totals
}

// fill reads all of b. It fails with Corrupt if the archive ends before.
func (r *reader) fill(b []byte) error {
	_, err := io.ReadFull(r.in, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("the archive ends too early")
	}
	return err
}

// begin reads the beginning: the magic and the header.
func (r *reader) begin() error {
	got := make([]byte, len(magic))
	if err := r.fill(got); err != nil {
		return err
	}
	if string(got) != magic {
		// Another version differs in the last two bytes, the number and the newline.
		if bytes.HasPrefix(got, []byte(magic[:len(magic)-2])) {
			return errs.New(errs.Unsupported, "archive.Read", "", "the archive's format is not version 1").
				WithRemedy("use the version of hemera that wrote it")
		}
		return errs.New(errs.Corrupt, "archive.Read", "", "this is no backup of hemera").
			WithRemedy("name a file that `hemera ns backup` made")
	}
	// The sum includes the magic, so that an archive cannot be taken for one of another version.
	r.sum.Write(got)
	kind, content, err := r.next()
	if err != nil {
		return err
	}
	var head Header
	if kind != kindHeader || json.Unmarshal(content, &head) != nil {
		return damaged("the archive has no header")
	}
	if r.visit.Header != nil {
		return r.visit.Header(head)
	}
	return nil
}

// next reads one frame and checks it; the content is valid until the next call.
func (r *reader) next() (kind byte, content []byte, err error) {
	// A damaged length must not make the reader allocate gigabytes.
	r.frame = append(r.frame[:0], make([]byte, frameHead)...)
	if err := r.fill(r.frame); err != nil {
		return 0, nil, err
	}
	stored, plain := binary.BigEndian.Uint32(r.frame[2:]), binary.BigEndian.Uint32(r.frame[6:])
	// The lengths are checked before memory is allocated for them: the CRC is not known yet.
	if stored > frameMax || plain > frameMax {
		return 0, nil, damaged("a frame is longer than frames are")
	}
	r.frame = append(r.frame, make([]byte, stored)...)
	if err := r.fill(r.frame[frameHead:]); err != nil {
		return 0, nil, err
	}
	if frameCRC(r.frame) != binary.BigEndian.Uint32(r.frame[crcAt:]) {
		return 0, nil, damaged("a frame does not match its checksum")
	}
	// The end's frame has the sum of all bytes before it, so compute it without this frame.
	r.before = r.sum.Sum(r.before[:0]) // compared with the end's frame, if this is it
	r.sum.Write(r.frame)
	content = r.frame[frameHead:]
	switch r.frame[1] {
	case codecPlain:
	case codecZstd:
		if r.plain, err = r.zstd.DecodeAll(content, r.plain[:0]); err != nil {
			return 0, nil, damaged("a frame cannot be decompressed")
		}
		content = r.plain
	default:
		return 0, nil, damaged("a frame has an unknown codec")
	}
	// The frame's CRC does not cover the output of the decoder.
	if len(content) != int(plain) {
		return 0, nil, damaged("a frame has another length than it says")
	}
	return r.frame[0], content, nil
}

// take passes the content of a frame to the visitor.
func (r *reader) take(kind byte, content []byte) error {
	switch kind {
	case kindAttachment:
		return r.attachment(content)
	case kindPairs:
		return r.pairs(content)
	}
	return damaged("a frame is of an unknown kind")
}

// attachment decodes a frame with the length of a name (varint), the name and the content.
func (r *reader) attachment(content []byte) error {
	n, used := binary.Uvarint(content)
	if used <= 0 || n > uint64(len(content)-used) {
		return damaged("an attachment has no name")
	}
	// Count before the visit: a visitor never sees more than AttachmentsMax.
	if r.totals.Attachments++; r.totals.Attachments > AttachmentsMax {
		return damaged("there are too many attachments")
	}
	if r.visit.Attachment == nil {
		return nil
	}
	content = content[used:]
	return r.visit.Attachment(string(content[:n]), content[n:])
}

// pairs decodes a frame of pairs. Keys must ascend over all frames: a frame that appears twice, or out of its place, is
// damage.
func (r *reader) pairs(content []byte) error {
	for len(content) > 0 {
		k, used := binary.Uvarint(content)
		if used <= 0 {
			return damaged("a pair is cut off")
		}
		content = content[used:]
		v, used := binary.Uvarint(content)
		// Both are bounded before they are added, so the sum cannot overflow.
		if used <= 0 || k > kv.KeyMax || v > kv.ValueMax || k+v > uint64(len(content)-used) {
			return damaged("a pair is cut off")
		}
		content = content[used:]
		// The capacities end with the slices, so that a visitor that appends does not overwrite the next pair.
		key, value := content[:k:k], content[k:k+v:k+v]
		content = content[k+v:]
		// The order also excludes duplicates.
		if bytes.Compare(key, r.last) <= 0 {
			return damaged("keys are not in order")
		}
		r.last = append(r.last[:0], key...)
		r.totals.Pairs++
		r.totals.KeyBytes += int64(k)
		r.totals.ValueBytes += int64(v)
		if r.visit.Pair != nil {
			if err := r.visit.Pair(key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// end compares the totals read with the totals written, and fails if anything follows: a byte after the end means two
// joined files, or a longer file overwritten in part.
func (r *reader) end(content []byte) error {
	var wrote Totals
	if json.Unmarshal(content, &wrote) != nil {
		return damaged("the archive's end is not readable")
	}
	if r.totals.SHA256 = hex.EncodeToString(r.before); r.totals != wrote {
		return damaged("the archive does not hold what its end says")
	}
	n, err := io.ReadFull(r.in, make([]byte, 1))
	if n > 0 {
		return damaged("something follows the archive's end")
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
