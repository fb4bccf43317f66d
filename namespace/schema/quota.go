package schema

import (
	"encoding/binary"

	"hemera/words/hemera"
)

// NodeState says what the accounts of a quota node hold. The numbers are stored. Package accounts describes the
// transitions, which only its counter makes.
type NodeState uint8

const (
	// NodeWaiting means that the node's files are not counted yet. They count at the next node above.
	NodeWaiting NodeState = 1 + iota
	// NodeCounting means that changes in the realm are recorded, and what was there before is being counted.
	NodeCounting
	// NodeMerging means that what was there before is counted, in the set Side. It moves into the node's set and out of From.
	NodeMerging
	// NodeExact means that the set is what the realm uses.
	NodeExact
	// NodeEnding means that the files count at the next node above, and what is in the node's set moves to From.
	NodeEnding
)

// QuotaNode is the record of a directory with limits.
type QuotaNode struct {
	State NodeState
	Set   uint64 // of the accounts of the node's realm
	Side  uint64 // set of what was there when counting began
	From  uint64 // set of the node above when counting, or the end, began; zero: there was none
	// Limits is the number of users and groups that have limits; Project are the limits of the whole tree.
	Limits  uint64
	Project hemera.QuotaAmount
}

// Active reports whether the files below count in the node's set.
func (q *QuotaNode) Active() bool {
	return q.State == NodeCounting || q.State == NodeMerging || q.State == NodeExact
}

// Limited reports whether the node has any limit.
func (q *QuotaNode) Limited() bool { return q.Limits > 0 || q.Project != hemera.QuotaAmount{} }

// EncodeQuotaNode returns the record of a quota node.
func EncodeQuotaNode(q *QuotaNode) []byte { return AppendQuotaNode(nil, q) }

// AppendQuotaNode appends the record of a quota node.
func AppendQuotaNode(b []byte, q *QuotaNode) []byte {
	b = append(b, recordVersion, byte(q.State))
	for _, n := range []uint64{q.Set, q.Side, q.From, q.Limits} {
		b = binary.AppendUvarint(b, n)
	}
	return appendAmounts(b, q.Project)
}

// DecodeQuotaNode reads what [AppendQuotaNode] wrote.
func DecodeQuotaNode(_, raw []byte) (*QuotaNode, error) {
	d := decoder{rest: raw}
	d.version()
	q := &QuotaNode{State: NodeState(d.byte())}
	if q.State < NodeWaiting || q.State > NodeEnding {
		d.bad = true
	}
	q.Set, q.Side, q.From, q.Limits = d.uint(), d.uint(), d.uint(), d.uint()
	q.Project = d.amount()
	return q, d.end()
}

// Account is a user or a group at a quota node.
type Account struct {
	Kind hemera.QuotaKind
	ID   uint32 // uid or gid
}

// UserAccount returns the account of a user.
func UserAccount(uid uint32) Account { return Account{hemera.QuotaUser, uid} }

// GroupAccount returns the account of a group.
func GroupAccount(gid uint32) Account { return Account{hemera.QuotaGroup, gid} }

// EncodeAmount returns the record of what an account uses, or of its limits.
func EncodeAmount(a *hemera.QuotaAmount) []byte { return AppendAmount(nil, a) }

// AppendAmount appends the record of what an account uses, or of its limits.
func AppendAmount(b []byte, a *hemera.QuotaAmount) []byte {
	return appendAmounts(append(b, recordVersion), *a)
}

// DecodeAmount reads what [AppendAmount] wrote.
func DecodeAmount(_, raw []byte) (*hemera.QuotaAmount, error) {
	d := decoder{rest: raw}
	d.version()
	a := d.amount()
	return &a, d.end()
}

func appendAmounts(b []byte, a hemera.QuotaAmount) []byte {
	for _, n := range []int64{a.Files, a.Bytes, a.Physical} {
		b = binary.AppendVarint(b, n)
	}
	return b
}
