package archive

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Attachment is a small file that is stored with the pairs, such as a key that signs them. [Read] returns it as it is.
// The archive gives its name no meaning.
type Attachment struct {
	Name    string
	Content []byte
}

// Write writes the archive of a snapshot. It blocks until out has taken everything, and holds one frame in memory;
// nothing else waits for it. It writes whole frames. After an error the archive has no end, and readers refuse it. Errors
// of out are returned as they are. from must be a snapshot: the keys of a store in use could change between frames.
func Write(ctx context.Context, out io.Writer, from kv.Reader, head Header, with ...Attachment) (Totals, error) {
	w, err := newWriter(out)
	if err != nil {
		return Totals{}, err
	}
	if err := w.describe(head, with); err != nil {
		return w.totals, err
	}
	// An error of out or of the encoder ends the scan without an error of its own.
	var failed error
	err = from.Scan(ctx, nil, nil, func(key, value []byte) bool {
		failed = w.pair(key, value)
		return failed == nil
	})
	if failed != nil {
		return w.totals, failed
	}
	if err != nil {
		return w.totals, errs.Wrap(err, "archive.Write", "")
	}
	return w.totals, w.end()
}

// writer writes one archive.
type writer struct {
	out    io.Writer
	sum    hash.Hash // of all bytes sent
	zstd   *zstd.Encoder
	pairs  []byte // of the frame being filled
	frame  []byte // reused
	totals Totals
}

// newWriter makes a writer with the fastest level of compression: a backup runs beside the store's users.
func newWriter(out io.Writer) (*writer, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, errs.Wrap(err, "archive.Write", "")
	}
	// Capacity for one more pair of usual size keeps the buffer from growing when it passes the aim.
	return &writer{out: out, sum: sha256.New(), zstd: encoder, pairs: make([]byte, 0, frameAim+64<<10)}, nil
}

// describe writes magic, header and attachments. It fails with TooLarge beyond the limits of attachments.
func (w *writer) describe(head Header, with []Attachment) error {
	if len(with) > AttachmentsMax {
		return errs.New(errs.TooLarge, "archive.Write", "", fmt.Sprintf("an archive has at most %d attachments", AttachmentsMax))
	}
	w.sum.Write([]byte(magic))
	if _, err := io.WriteString(w.out, magic); err != nil {
		return err
	}
	text, err := json.Marshal(head)
	if err != nil {
		return errs.Wrap(err, "archive.Write", "")
	}
	if err := w.send(kindHeader, text); err != nil {
		return err
	}
	for _, a := range with {
		if len(a.Content) > AttachmentMax {
			return errs.New(errs.TooLarge, "archive.Write", a.Name, fmt.Sprintf("an attachment has at most %d bytes", AttachmentMax))
		}
		content := binary.AppendUvarint(nil, uint64(len(a.Name)))
		if err := w.send(kindAttachment, append(append(content, a.Name...), a.Content...)); err != nil {
			return err
		}
		w.totals.Attachments++
	}
	return nil
}

// pair adds a pair to the current frame, as lengths (varints), key and value, and sends the frame if it is full.
func (w *writer) pair(key, value []byte) error {
	w.pairs = binary.AppendUvarint(w.pairs, uint64(len(key)))
	w.pairs = binary.AppendUvarint(w.pairs, uint64(len(value)))
	w.pairs = append(append(w.pairs, key...), value...)
	w.totals.Pairs++
	w.totals.KeyBytes += int64(len(key))
	w.totals.ValueBytes += int64(len(value))
	if len(w.pairs) < frameAim {
		return nil
	}
	return w.flush()
}

// flush sends the current frame if it has any pairs.
func (w *writer) flush() error {
	if len(w.pairs) == 0 {
		return nil
	}
	err := w.send(kindPairs, w.pairs)
	w.pairs = w.pairs[:0]
	return err
}

// end sends the totals. Their sum covers all bytes before this frame.
func (w *writer) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	w.totals.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	text, err := json.Marshal(w.totals)
	if err != nil {
		return errs.Wrap(err, "archive.Write", "")
	}
	return w.send(kindEnd, text)
}

// send writes one frame, compressed if that makes it smaller.
func (w *writer) send(kind byte, content []byte) error {
	// EncodeAll appends, so leave room for the head.
	w.frame = append(w.frame[:0], make([]byte, frameHead)...)
	w.frame = w.zstd.EncodeAll(content, w.frame)
	codec := byte(codecZstd)
	if len(w.frame)-frameHead >= len(content) {
		codec, w.frame = codecPlain, append(w.frame[:frameHead], content...)
	}
	w.frame[0], w.frame[1] = kind, codec
	binary.BigEndian.PutUint32(w.frame[2:], uint32(len(w.frame)-frameHead))
	binary.BigEndian.PutUint32(w.frame[6:], uint32(len(content)))
	binary.BigEndian.PutUint32(w.frame[crcAt:], frameCRC(w.frame))
	w.sum.Write(w.frame)
	_, err := w.out.Write(w.frame)
	return err
}

// frameCRC returns the CRC of a whole frame except the CRC itself.
func frameCRC(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[:crcAt], castagnoli), castagnoli, frame[frameHead:])
}
