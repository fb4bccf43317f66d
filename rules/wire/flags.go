package wire

// ProtocolVersion is what both ends announce.
const ProtocolVersion = 0x520

// VersionPages is the first version whose clients know pgread, pgwrite and kXR_status.
const VersionPages = 0x511

// Server flags in the answer to kXR_protocol. A server announces exactly one of IsServer and
// IsManager: clients that see both put the manager itself into `tried=`.
const (
	FlagIsServer    uint32 = 1
	FlagIsManager   uint32 = 2
	FlagAttrMeta    uint32 = 0x100
	FlagAttrProxy   uint32 = 0x200
	FlagAttrSuper   uint32 = 0x400
	FlagAttrVirtRdr uint32 = 0x800
	FlagRecoverWrts uint32 = 0x1000
	FlagCollapseRdr uint32 = 0x2000
	FlagSupPosc     uint32 = 0x100000
	FlagSupPgrw     uint32 = 0x200000
	FlagSupGpf      uint32 = 0x400000
	FlagTLSData     uint32 = 0x01000000
	FlagTLSGpf      uint32 = 0x02000000
	FlagTLSLogin    uint32 = 0x04000000
	FlagTLSSession  uint32 = 0x08000000
	FlagTLSTPC      uint32 = 0x10000000
	FlagGotoTLS     uint32 = 0x40000000
	FlagHaveTLS     uint32 = 0x80000000
)

// Types of server in the handshake answer.
const (
	HandshakeManager uint32 = 0
	HandshakeServer  uint32 = 1
)

// Client flags of kXR_protocol, and what the client says comes next.
const (
	ClientSecReqs uint8 = 1
	ClientAbleTLS uint8 = 2
	ClientWantTLS uint8 = 4
	ClientBifReqs uint8 = 8

	ExpectBind  uint8 = 1
	ExpectGPF   uint8 = 2
	ExpectLogin uint8 = 3
	ExpectTPC   uint8 = 4
)

// What a client says of itself at login.
const (
	AbilityRedirFlags uint8 = 0x80 // understands the flags of redirects

	LoginAbilities uint8 = 0xdd // full URLs, read redirects, IPv4 and IPv6, local files, redirect flags
	LoginCapVer    uint8 = 0x85 // understands delayed answers; version 5
)

// Options of kXR_open. Locate uses Refresh, NoWait, Force, Compress and PrefName.
const (
	OpenCompress uint16 = 1
	OpenDelete   uint16 = 2 // create, or empty what exists
	OpenForce    uint16 = 4
	OpenNew      uint16 = 8 // create, fail when it exists
	OpenRead     uint16 = 0x10
	OpenUpdate   uint16 = 0x20
	OpenAsync    uint16 = 0x40
	OpenRefresh  uint16 = 0x80
	OpenMkpath   uint16 = 0x100
	OpenAppend   uint16 = 0x200
	OpenRetStat  uint16 = 0x400
	OpenReplica  uint16 = 0x800
	OpenPosc     uint16 = 0x1000
	OpenNoWait   uint16 = 0x2000
	OpenSeqIO    uint16 = 0x4000
	OpenWriteTo  uint16 = 0x8000

	// These are in Options2.
	OpenDup      uint16 = 1 // begin as a clone of the template
	OpenSameFS   uint16 = 2 // where the template is
	OpenRetStatX uint16 = 4 // as OpenRetStat
	OpenDirectIO uint16 = 8

	LocatePrefName uint16 = 0x100
	LocateNoWait   uint16 = 0x2000
	LocateRefresh  uint16 = 0x80
)

// Flags of a stat line.
const (
	StatXset      uint32 = 1 // executable, or a directory that may be entered
	StatIsDir     uint32 = 2
	StatOther     uint32 = 4
	StatOffline   uint32 = 8
	StatReadable  uint32 = 16
	StatWritable  uint32 = 32
	StatPoscPend  uint32 = 64
	StatBkpExist  uint32 = 128
	StatCacheResp uint32 = 512
)

// Options of kXR_stat, kXR_dirlist, kXR_mkdir, kXR_writev and kXR_pgread/kXR_pgwrite.
const (
	StatVFS       uint8 = 1
	DirlistOnline uint8 = 1
	DirlistStat   uint8 = 2
	DirlistCksum  uint8 = 4 // implies DirlistStat
	MkdirPath     uint8 = 1
	WritevSync    uint8 = 1
	PageRetry     uint8 = 1
)

// Kinds of kXR_query.
const (
	QueryStats     uint16 = 1
	QueryPrepare   uint16 = 2
	QueryChecksum  uint16 = 3
	QueryXattr     uint16 = 4
	QuerySpace     uint16 = 5
	QueryCksCancel uint16 = 6
	QueryConfig    uint16 = 7
	QueryVisa      uint16 = 8
	QueryFInfo     uint16 = 9
	QueryFSInfo    uint16 = 10
	QueryOpaque    uint16 = 16
	QueryOpaquf    uint16 = 32
	QueryOpaqug    uint16 = 64
)

// Options of kXR_prepare, and of its second option field.
const (
	PrepareCancel uint8  = 1
	PrepareNotify uint8  = 2
	PrepareNoErrs uint8  = 4
	PrepareStage  uint8  = 8
	PrepareWrite  uint8  = 16
	PrepareColoc  uint8  = 32
	PrepareFresh  uint8  = 64
	PrepareEvict  uint16 = 1 // second field
)

// Subcodes and options of kXR_fattr, and its limits.
const (
	FattrDel      uint8 = 0
	FattrGet      uint8 = 1
	FattrList     uint8 = 2
	FattrSet      uint8 = 3
	FattrIsNew    uint8 = 1
	FattrData     uint8 = 0x10
	FattrMaxNames       = 16
	FattrMaxName        = 248
	FattrMaxValue       = 65536
)

// Operations of kXR_chkpoint.
const (
	CkpBegin    uint8 = 0
	CkpCommit   uint8 = 1
	CkpQuery    uint8 = 2
	CkpRollback uint8 = 3
	CkpXeq      uint8 = 4
)

// Limits of vectors.
const (
	// VectorMax is the most elements of readv, writev and clone.
	VectorMax = 1024
	// ReadvElementMax is the longest element of readv, in bytes (readv_ior_max).
	ReadvElementMax = 2097136
	// PageErrorsMax is the most bad pages one pgwrite may have, PageErrorsFileMax one handle.
	PageErrorsMax     = 128
	PageErrorsFileMax = 256
)

// AttnAsyncResponse is the action of an attn frame that carries a delayed answer.
const AttnAsyncResponse int32 = 5008
