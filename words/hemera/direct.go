package hemera

import "context"

// A direct write is one whose client does the work of the head: it codes the content, sends each piece to its node, and
// offers it there. The head still has the name, and alone commits. It believes nothing: before the commit it has the nodes
// that hold the pieces compute sums of them, under a key that no client knows, and compares those.

// DirectFile is a pending file at its head, as the client of a direct write has it. Calls wait for the nodes of the
// pieces or for the manager: Timeout or Unavailable if those do not answer. Durable is what the close commits.
type DirectFile interface {
	// Adopt takes pieces that are offered for the content of the write, if they agree with each other and with s. What is
	// left is the close, which commits them. Called again with the same values it returns the same.
	//
	// Corrupt if they do not agree, Invalid for values that no content has, Unsupported for a write that is not
	// direct: one that has bytes at the head, an update, a layout of copies, or checksums that nodes cannot prove. After
	// Corrupt, and when a piece cannot be asked, the write has failed and nothing of it is kept.
	Adopt(ctx context.Context, s SealInfo, pieces []Piece) error
	// Replacement returns a token in which other disks stand in the places of the failed ones. NoSpace.
	Replacement(ctx context.Context, failed []DiskID) (token string, err error)
}

// SketchKey is the key of the sketches of one proof: random, and known to nodes only.
type SketchKey [16]byte

// ProofRequest asks for the sums of a part of a piece that its client offers.
type ProofRequest struct {
	// Seal has the fields with which the piece was offered, and which its footer will have.
	Seal SealInfo
	Key  SketchKey
	// Off and Length are the part, in bytes of the piece: a multiple of the unit of proofs each, but for the end of the file.
	Off, Length int64
}

// PieceProof is the sums of a part of a piece.
type PieceProof struct {
	// Blocks has the sums of each block that ends or begins in the part, of a data piece.
	Blocks []BlockSums
	// Sketches has one sum for each unit of the part, of a layout with parity. See rules/erasure: Sketcher.
	Sketches [][8]byte
}

// BlockSums are the checksums of one block of a data piece.
type BlockSums struct{ CRC32C, Adler32 uint32 }

// Prover is a [PieceHandle] that can prove what the piece has. It blocks for the disk, as long as to read the part
// takes.
type Prover interface {
	// Prove returns the sums of a part of the piece, which its client has offered to the head that asks. Corrupt if it was
	// offered with other values than the request has, Invalid for a piece that was not offered, Denied to a client.
	Prove(ctx context.Context, q ProofRequest) (PieceProof, error)
}
