package capability

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"slices"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// headSum is what the head of a write shows to the node whose key this is.
func (s *signer) headSum(sum *digest) []byte {
	return s.append(nil, append([]byte(asHead), sum[:]...))
}

// hidden hides what a head shows to a node, or finds it: it is its own inverse.
func hidden(head *signer, shown []byte, sum *digest, node hemera.NodeID) []byte {
	mask := head.append(nil, append(binary.BigEndian.AppendUint32([]byte(forHead), uint32(node)), sum[:]...))
	subtle.XORBytes(mask, mask, shown)
	return mask
}

// withHeads is the digest that signatures are made of for a token whose own is sum, with the keys of a head.
func withHeads(sum *digest, heads []byte) digest {
	return sha256.Sum256(append(sum[:], heads...))
}

// HeadProof returns what this node shows to another one, or to itself, as the head of the write that the token permits. The
// token may have expired. Invalid for text that is no token, Denied if the token is for no write of which this node is the
// head, or for no piece at the other.
func (v *Verifier) HeadProof(token string, node hemera.NodeID) (string, error) {
	e, s, err := v.write(token)
	if err != nil {
		return "", err
	}
	if e.nodes[0] != s.Node {
		return "", errs.New(errs.Denied, "capability.HeadProof", "", "this node is not the head of the write")
	}
	sum := sha256.Sum256(e.body)
	switch i := slices.Index(e.nodes, node); {
	case i < 0:
		return "", errs.New(errs.Denied, "capability.HeadProof", "", "the write has no piece at node "+node.String())
	case i == 0:
		return encoding.EncodeToString(s.headSum(&sum)), nil
	default:
		return encoding.EncodeToString(hidden(s, e.heads[(i-1)*macSize:i*macSize], &sum, node)), nil
	}
}

// VerifyHead returns nil if the proof is what the head of the write that the token permits shows to this node. It fails like
// HeadProof, and with Denied for another proof. Whether the token has expired, or is barred, is for [Verifier.Verify] to say.
func (v *Verifier) VerifyHead(token, proof string) error {
	e, s, err := v.write(token)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(e.body)
	shown, err := encoding.DecodeString(proof)
	if err != nil || !hmac.Equal(shown, s.headSum(&sum)) {
		return errs.New(errs.Denied, "capability.VerifyHead", "", "this is not the head of the write")
	}
	return nil
}

// write takes the token of a write apart that is signed for this node, and returns the key that it is signed with.
func (v *Verifier) write(token string) (*envelope, *signer, error) {
	e, err := open(token)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range v.load() {
		if uint64(s.ID) != e.key || !s.usable() || e.version != versionWrite {
			continue
		}
		if sum := e.of(s.Node); sum != nil && s.signed(e.digest(), sum) {
			return e, s, nil
		}
	}
	return nil, nil, unsigned()
}
