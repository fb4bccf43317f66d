package capability

import (
	"errors"
	"strings"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// spread returns a write with its head at node 3 and pieces at 3, 9 and 12.
func spread() hemera.Capability {
	c := sample()
	c.Access, c.Base, c.Head = hemera.AccessCreate, nil, 3
	c.Targets = []hemera.Target{{Index: 0, Disk: 1, Node: 3}, {Index: 1, Disk: 2, Node: 9}, {Index: 2, Disk: 3, Node: 12}}
	return c
}

// TestTheHeadProvesThatItIs: the head has a different proof for each node of its write, which is valid for that write
// only.
func TestTheHeadProvesThatItIs(t *testing.T) {
	other := spread()
	other.Nonce++
	token, another := mint(keyA, spread()), mint(keyA, other)
	proofs := map[string]bool{}
	for _, node := range []hemera.NodeID{3, 9, 12} {
		proof, err := at(3, keyB, keyA).HeadProof(token, node)
		if err != nil {
			t.Fatal(node, err)
		}
		proofs[proof] = true
		if err := at(node, keyB, keyA).VerifyHead(token, proof); err != nil {
			t.Error(node, err)
		}
		for _, elsewhere := range []hemera.NodeID{3, 9, 12} {
			if err := at(elsewhere, keyA).VerifyHead(token, proof); elsewhere != node && !errors.Is(err, errs.Denied) {
				t.Errorf("what is for node %d, at node %d: %v", node, elsewhere, err)
			}
		}
		if err := at(node, keyA).VerifyHead(another, proof); !errors.Is(err, errs.Denied) {
			t.Errorf("another write: %v", err)
		}
		if strings.Contains(token, proof) {
			t.Error("the token shows it")
		}
	}
	if len(proofs) != 3 {
		t.Error("two nodes are shown the same")
	}
}

// TestNobodyElseIsTheHead: a client has the token, and nodes of other pieces have keys as well, but they have no proof.
func TestNobodyElseIsTheHead(t *testing.T) {
	token := mint(keyA, spread())
	for what, err := range map[string]error{
		"a target as head":  second(at(9, keyA).HeadProof(token, 12)),
		"at itself":         second(at(9, keyA).HeadProof(token, 9)),
		"a node beside it":  second(at(77, keyA).HeadProof(token, 9)),
		"at a node beside":  second(at(3, keyA).HeadProof(token, 77)),
		"nothing shown":     at(9, keyA).VerifyHead(token, ""),
		"no base64":         at(9, keyA).VerifyHead(token, "!"),
		"zeros":             at(9, keyA).VerifyHead(token, strings.Repeat("A", 22)),
		"a token for reads": second(at(3, keyA).HeadProof(mint(keyA, func() hemera.Capability { c := spread(); c.Access = hemera.AccessRead; return c }()), 9)),
	} {
		if !errors.Is(err, errs.Denied) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// The masked proof in the token is of no use to a node.
	e, err := open(token)
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.nodes[1:] {
		if err := at(e.nodes[1+i], keyA).VerifyHead(token, encoding.EncodeToString(e.heads[i*macSize:][:macSize])); !errors.Is(err, errs.Denied) {
			t.Errorf("the hidden text itself: %v", err)
		}
	}
}

// TestAWriteAtOneNode: its token has no key for another node.
func TestAWriteAtOneNode(t *testing.T) {
	c := spread()
	c.Targets = c.Targets[:1]
	token := mint(keyA, c)
	if _, err := NewKeyring(keyA).Verify(token, when); err != nil {
		t.Error(err)
	}
	if _, err := at(3, keyA).Verify(token, when); err != nil {
		t.Error(err)
	}
	proof, err := at(3, keyA).HeadProof(token, 3)
	if err != nil || at(3, keyA).VerifyHead(token, proof) != nil {
		t.Errorf("%q, %v", proof, err)
	}
}
