package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"hemera/words/hemera"
)

// Requests of a direct write, whose client codes the content and sends each piece to its node. Each is the argument of a
// kXR_query of type kXR_Qopaquf on a handle. docs/protocol.md has the exchange.

// EncodeAdopt returns the request for the head to take sealed pieces:
// "hem.adopt&size=…&sync=…&sums=…&pieces=index:disk,…".
func EncodeAdopt(s hemera.SealInfo, pieces []hemera.Piece) string {
	list := make([]string, len(pieces))
	for i, p := range pieces {
		list[i] = fmt.Sprintf("%d:%d", p.Index, p.Disk)
	}
	return OpaqueAdopt + sealValues(s) + "&pieces=" + strings.Join(list, ",")
}

// ParseAdopt decodes the result of [EncodeAdopt].
func ParseAdopt(arg string) (s hemera.SealInfo, pieces []hemera.Piece, err error) {
	values, err := valuesOf(arg, OpaqueAdopt)
	if err != nil {
		return s, nil, err
	}
	if s, err = parseSeal(values); err != nil {
		return s, nil, err
	}
	list := strings.Split(values.Get("pieces"), ",")
	if len(list) > hemera.PiecesMax {
		return s, nil, fmt.Errorf("request to adopt: %d pieces are more than a file has", len(list))
	}
	for _, text := range list {
		index, disk, _ := strings.Cut(text, ":")
		i, err := strconv.ParseUint(index, 10, 8)
		if err != nil {
			return s, nil, fmt.Errorf("request to adopt: %q is no piece", text)
		}
		d, err := parseDisk(disk)
		if err != nil {
			return s, nil, fmt.Errorf("request to adopt: %w", err)
		}
		pieces = append(pieces, hemera.Piece{Index: uint8(i), Disk: d})
	}
	return s, pieces, nil
}

// parseDisk reads the number of a disk.
func parseDisk(text string) (hemera.DiskID, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no disk", text)
	}
	return hemera.DiskID(n), nil
}

// EncodeReplace returns the request for other disks instead of the failed ones, "hem.replace&disks=…,…". Without failed
// ones it is the request to extend the token, "hem.replace&renew=1". The answer is the new token.
func EncodeReplace(failed []hemera.DiskID) string {
	if len(failed) == 0 {
		return OpaqueReplace + "&renew=1"
	}
	list := make([]string, len(failed))
	for i, d := range failed {
		list[i] = strconv.FormatUint(uint64(d), 10)
	}
	return OpaqueReplace + "&disks=" + strings.Join(list, ",")
}

// ParseReplace decodes the result of [EncodeReplace].
func ParseReplace(arg string) (failed []hemera.DiskID, err error) {
	values, err := valuesOf(arg, OpaqueReplace)
	if err != nil {
		return nil, err
	}
	if values.Get("renew") == "1" {
		return nil, nil
	}
	list := strings.Split(values.Get("disks"), ",")
	if len(list) > hemera.PiecesMax {
		return nil, fmt.Errorf("request to replace: %d disks are more than a file has", len(list))
	}
	for _, text := range list {
		d, err := parseDisk(text)
		if err != nil {
			return nil, fmt.Errorf("request to replace: %w", err)
		}
		failed = append(failed, d)
	}
	return failed, nil
}

// EncodeProve returns the request for the sums of a part of a piece:
// "hem.prove&size=…&sync=…&sums=…&key=hex&off=…&length=…". The answer has the form of [EncodeProof].
func EncodeProve(q hemera.ProofRequest) string {
	return fmt.Sprintf("%s%s&key=%x&off=%d&length=%d", OpaqueProve, sealValues(q.Seal), q.Key[:], q.Off, q.Length)
}

// ParseProve decodes the result of [EncodeProve].
func ParseProve(arg string) (q hemera.ProofRequest, err error) {
	values, err := valuesOf(arg, OpaqueProve)
	if err != nil {
		return q, err
	}
	if q.Seal, err = parseSeal(values); err != nil {
		return q, err
	}
	key, err := hex.DecodeString(values.Get("key"))
	if err != nil || copy(q.Key[:], key) != len(q.Key) || len(key) != len(q.Key) {
		return q, fmt.Errorf("request for a proof: the key is not one of %d bytes", len(q.Key))
	}
	for name, to := range map[string]*int64{"off": &q.Off, "length": &q.Length} {
		if *to, err = strconv.ParseInt(values.Get(name), 10, 64); err != nil || *to < 0 || *to > hemera.FileSizeMax {
			return q, fmt.Errorf("request for a proof: %s %q is no number of bytes", name, values.Get(name))
		}
	}
	return q, nil
}

// proofSumsMax bounds the sums in one answer: a part has fewer.
const proofSumsMax = 1 << 16

// EncodeProof returns the answer to a request for a proof, in base64: two counts of 4 bytes, the sums of the blocks
// (CRC32C, Adler-32, 4 bytes each), then the sketches of 8 bytes. Numbers are big-endian.
func EncodeProof(p hemera.PieceProof) string {
	b := make([]byte, 0, 8+8*len(p.Blocks)+8*len(p.Sketches))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Blocks)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Sketches)))
	for _, s := range p.Blocks {
		b = binary.BigEndian.AppendUint32(b, s.CRC32C)
		b = binary.BigEndian.AppendUint32(b, s.Adler32)
	}
	for _, s := range p.Sketches {
		b = append(b, s[:]...)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// ParseProof decodes the result of [EncodeProof].
func ParseProof(text string) (p hemera.PieceProof, err error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) < 8 {
		return p, fmt.Errorf("proof of a piece: %d characters are none", len(text))
	}
	blocks, sketches := int64(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:]))
	b = b[8:]
	if blocks > proofSumsMax || sketches > proofSumsMax || int64(len(b)) != 8*blocks+8*sketches {
		return p, fmt.Errorf("proof of a piece: %d bytes are not %d and %d sums", len(b), blocks, sketches)
	}
	for range blocks {
		p.Blocks = append(p.Blocks, hemera.BlockSums{CRC32C: binary.BigEndian.Uint32(b), Adler32: binary.BigEndian.Uint32(b[4:])})
		b = b[8:]
	}
	for range sketches {
		p.Sketches = append(p.Sketches, [8]byte(b))
		b = b[8:]
	}
	return p, nil
}
