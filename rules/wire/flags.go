package wire

// ProtocolVersion is the version that both ends announce.
const ProtocolVersion = 0x520

// VersionPages is the first version whose clients have pgread, pgwrite and kXR_status.
const VersionPages = 0x511

// Server flags in the answer to kXR_protocol. A server announces exactly one of IsServer and
// IsManager: clients that see both put the manager itself into `tried=`.
const (
	FlagIsServer    uint32 = 1          // it has data
	FlagIsManager   uint32 = 2          // it redirects
	FlagAttrMeta    uint32 = 0x100      // it is a manager of managers
	FlagAttrProxy   uint32 = 0x200      // it is a proxy
	FlagAttrSuper   uint32 = 0x400      // it is a supervisor
	FlagAttrVirtRdr uint32 = 0x800      // redirects are virtual
	FlagRecoverWrts uint32 = 0x1000     // writes can be recovered
	FlagCollapseRdr uint32 = 0x2000     // redirects may be remembered
	FlagSupPosc     uint32 = 0x100000   // OpenPosc works
	FlagSupPgrw     uint32 = 0x200000   // pgread and pgwrite work
	FlagSupGpf      uint32 = 0x400000   // gpfile works
	FlagTLSData     uint32 = 0x01000000 // data needs TLS
	FlagTLSGpf      uint32 = 0x02000000 // gpfile needs TLS
	FlagTLSLogin    uint32 = 0x04000000 // the login needs TLS
	FlagTLSSession  uint32 = 0x08000000 // the session needs TLS
	FlagTLSTPC      uint32 = 0x10000000 // third-party copies need TLS
	FlagGotoTLS     uint32 = 0x40000000 // the client is to begin TLS now
	FlagHaveTLS     uint32 = 0x80000000 // the server has TLS
)

// Types of server in the handshake answer.
const (
	HandshakeManager uint32 = 0
	HandshakeServer  uint32 = 1
)

// Client flags of kXR_protocol, and the client's announcement of its next request.
const (
	ClientSecReqs uint8 = 1 // wants to know what must be signed
	ClientAbleTLS uint8 = 2 // can use TLS
	ClientWantTLS uint8 = 4 // wants to use TLS
	ClientBifReqs uint8 = 8 // wants the bind interfaces
	ExpectBind    uint8 = 1 // a bind follows
	ExpectGPF     uint8 = 2 // a gpfile follows
	ExpectLogin   uint8 = 3 // a login follows
	ExpectTPC     uint8 = 4 // a third-party copy follows
)

// Abilities that a client announces at login.
const (
	AbilityRedirFlags uint8 = 0x80 // understands the flags of redirects

	LoginAbilities uint8 = 0xdd // full URLs, read redirects, IPv4 and IPv6, local files, redirect flags
	LoginCapVer    uint8 = 0x85 // understands delayed answers; version 5
	LoginAsync     uint8 = 0x80 // of LoginCapVer: understands delayed answers
)

// Options of kXR_open. Locate uses Refresh, NoWait, Force, Compress and PrefName.
const (
	OpenCompress uint16 = 1      // return how the file is compressed
	OpenDelete   uint16 = 2      // create, or empty what exists
	OpenForce    uint16 = 4      // ignore other writers
	OpenNew      uint16 = 8      // create, fail when it exists
	OpenRead     uint16 = 0x10   // read only
	OpenUpdate   uint16 = 0x20   // read and write
	OpenAsync    uint16 = 0x40   // unused by servers
	OpenRefresh  uint16 = 0x80   // forget what caches say of the file
	OpenMkpath   uint16 = 0x100  // make missing directories
	OpenAppend   uint16 = 0x200  // write at the end
	OpenRetStat  uint16 = 0x400  // answer with a stat line
	OpenReplica  uint16 = 0x800  // a copy of the file is being made
	OpenPosc     uint16 = 0x1000 // remove the file unless it is closed
	OpenNoWait   uint16 = 0x2000 // answer at once instead of waiting for the file
	OpenSeqIO    uint16 = 0x4000 // the file is used from its beginning to its end
	OpenWriteTo  uint16 = 0x8000 // write only
	// These are in Options2.
	OpenDup        uint16 = 1 // begin as a clone of the template
	OpenSameFS     uint16 = 2 // where the template is
	OpenRetStatX   uint16 = 4 // as OpenRetStat
	OpenDirectIO   uint16 = 8 // past the page cache
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
