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

// headSum returns the proof that the head of a write shows to the node with this key.
func (s *signer) headSum(sum *digest) []byte {
	return s.append(nil, append([]byte(asHead), sum[:]...))
}

// hidden masks the proof of a head for a node, or removes the mask: it is its own inverse.
func hidden(head *signer, shown []byte, sum *digest, node hemera.NodeID) []byte {
	mask := head.append(nil, append(binary.BigEndian.AppendUint32([]byte(forHead), uint32(node)), sum[:]...))
	subtle.XORBytes(mask, mask, shown)
	return mask
}

// withHeads returns the digest to sign for a token that carries keys of a head. sum is the digest of the token's body.
func withHeads(sum *digest, heads []byte) digest {
	return sha256.Sum256(append(sum[:], heads...))
}

// HeadProof returns the proof that this node shows to another one, or to itself, as the head of the write that the token
// permits. The token may have expired. It fails with Invalid if the text is not a token, and with Denied if the token
// does not permit a write with this node as the head, or has no piece at the other node.
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

// VerifyHead returns nil if the proof is that of the head of the write that the token permits. It fails like HeadProof,
// and with Denied for a wrong proof. It does not check whether the token has expired or is barred: [Verifier.Verify]
// does.
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

// write decodes the token of a write that is signed for this node, and returns the key with which it is signed.
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
