package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// The attributes of EOS that this package reads. If our attribute for the same action is set, EOS's is ignored.
const (
	// AttrMatch removes files: "*.tmp:3d,*:1mo:>1G".
	AttrMatch = "sys.lru.expire.match"
	// AttrConvertMatch converts files: "*.root:1mo:>1G". The form of each match is in a separate attribute, named
	// [conversionPrefix] followed by the match.
	AttrConvertMatch = "sys.lru.convert.match"
	// attrConvertSpace is the space of converted files. Without it they stay in theirs.
	attrConvertSpace = "sys.lru.conversion.space"
	// attrAccessTime makes EOS record the time of the last access. It turns all ages into times without use.
	attrAccessTime   = "sys.force.atime"
	conversionPrefix = "sys.conversion."
	lruPrefix        = "sys.lru."
)

// isEOS reports whether an attribute is one of EOS's that make rules.
func isEOS(name string) bool {
	return name == AttrMatch || name == AttrConvertMatch || name == attrConvertSpace || name == attrAccessTime || strings.HasPrefix(name, conversionPrefix)
}

// checkEOS implements CheckAttribute for the attributes of EOS.
func checkEOS(name, text string) (forms []hemera.Form, err error) {
	// An empty value counts as not set, as for our attributes.
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	switch name {
	// The two attributes of a conversion may be set in either order, so each is checked alone.
	case AttrMatch, AttrConvertMatch:
		_, err = parseMatches(name, text)
	case attrConvertSpace:
		return []hemera.Form{{Space: hemera.SpaceName(text)}}, nil
	case attrAccessTime:
		// EOS's granularity of access times does not matter here: accesses are recorded by the day.
		if _, err = parseSeconds(text); err != nil {
			err = invalid(name, text, err)
		}
	default:
		var f hemera.Form
		f, err = parseConversion(name, text)
		forms = []hemera.Form{f}
	}
	return forms, err
}

// refuseEOS returns the error for an attribute sys.lru.* that this package does not read. If it were accepted, it would
// have no effect, and files would stay that a user expects to be removed.
func refuseEOS(name, text string) error {
	// For all other names.
	cause, remedy := "nothing reads this attribute, so it would do nothing", "known are "+AttrMatch+", "+AttrConvertMatch+" and "+attrConvertSpace
	switch name {
	case lruPrefix + "expire.empty":
		cause = "rules are about files; empty directories stay"
		remedy = "remove them with `xrdfs HOST rmdir PATH`, which refuses those with files; " + AttrExpire + " removes files"
	case lruPrefix + "lowwatermark", lruPrefix + "highwatermark":
		cause = "rules go by age and use of files, not by how full a tree is"
		remedy = "remove what is not used with " + AttrExpire + "=unused=30d, and bound the tree with `hemera quota set --project`"
	}
	return errs.New(errs.Invalid, "lifecycle.CheckAttribute", name+"="+text, cause).WithRemedy(remedy)
}

// examplesEOS returns examples of a value of an attribute of EOS.
func examplesEOS(name string) string {
	switch name {
	case AttrMatch:
		return "write it as *.tmp:3d,*:1mo:>1G, or use " + AttrExpire
	case AttrConvertMatch:
		return "write it as *.root:1mo:>1G with " + conversionPrefix + "*.root, or use " + AttrConvert
	case attrAccessTime:
		return "write it as 300, 1d or 1w: " + AttrExpire + "=unused=30d says the same in one"
	}
	return "give a layout id as EOS's `file info` shows it, such as 20640542 (raid6 with 6 stripes of 1M, adler), or use " + AttrConvert + "=layout=rs:4+2"
}

// expireMatch returns the rules of [AttrMatch].
func expireMatch(attrs map[string][]byte) said {
	s := said{attr: AttrMatch}
	rules, err := parseMatches(AttrMatch, string(attrs[AttrMatch]))
	// A malformed value makes no rules at all: the part after the mistake may name files to keep.
	if err != nil {
		s.ignored = append(s.ignored, string(attrs[AttrMatch])+": "+plain(err).Error())
		return s
	}
	for _, r := range rules {
		s.rules = append(s.rules, r.byAccess(attrs))
	}
	return s
}

// convertMatch returns the rules of [AttrConvertMatch]. It ignores a match whose form is not set or malformed.
func convertMatch(attrs map[string][]byte) said {
	s := said{attr: AttrConvertMatch}
	rules, err := parseMatches(AttrConvertMatch, string(attrs[AttrConvertMatch]))
	if err != nil {
		s.ignored = append(s.ignored, string(attrs[AttrConvertMatch])+": "+plain(err).Error())
		return s
	}
	// EOS applies the matches in the order of their texts, so "*" comes before "*.root".
	slices.SortStableFunc(rules, func(a, b rule) int { return strings.Compare(a.name, b.name) })
	for _, r := range rules {
		name := conversionPrefix + r.name
		// A match that is ignored does not disable the others: conversions remove nothing.
		if len(attrs[name]) == 0 {
			s.ignored = append(s.ignored, r.name+": "+name+" is not set, which has the layout")
			continue
		}
		if r.form, err = parseConversion(name, string(attrs[name])); err != nil {
			s.ignored = append(s.ignored, name+": "+plain(err).Error())
			continue
		}
		// EOS would use sys.forced.space otherwise. Rules apply to a whole tree, and a directory below may have another
		// value.
		r.form.Space = hemera.SpaceName(attrs[attrConvertSpace])
		s.rules = append(s.rules, r.byAccess(attrs))
	}
	return s
}

// byAccess returns the rule with its age as a time without use, if EOS would record the time of the last access.
func (r rule) byAccess(attrs map[string][]byte) rule {
	if len(attrs[attrAccessTime]) > 0 {
		r.age, r.unused = 0, r.age
	}
	return r
}

// parseMatches reads the value of [AttrMatch] or [AttrConvertMatch]. The rules have no form. It fails with Invalid.
func parseMatches(attr, text string) (rules []rule, err error) {
	for part := range strings.SplitSeq(text, ",") {
		// EOS skips empty parts.
		if strings.TrimSpace(part) == "" {
			continue
		}
		r, err := parseMatch(strings.TrimSpace(part))
		switch {
		case err != nil:
		case len(rules) == rulesMax:
			err = fmt.Errorf("an attribute has at most %d matches", rulesMax)
		case attr == AttrConvertMatch && slices.ContainsFunc(rules, func(other rule) bool { return other.name == r.name }):
			err = fmt.Errorf("the match %s is there twice, and has one conversion", r.name)
		default:
			err = r.check(false)
		}
		if err != nil {
			return nil, invalid(attr, part, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// parseMatch reads one match, as in *.tmp:3d or *:1w:>1G.
func parseMatch(text string) (r rule, err error) {
	r.max = -1
	name, age, _ := strings.Cut(text, ":")
	age, size, _ := strings.Cut(age, ":")
	if name == "" || age == "" {
		return r, fmt.Errorf("%q has no name or no age", text)
	}
	// EOS's documentation has patterns with *, and some versions of EOS read them as regular expressions. A text that
	// means one thing as a pattern and another as an expression could remove the wrong files.
	if strings.ContainsAny(name, `?[]{}()|^$\+`) || strings.Contains(name, ".*") {
		return r, fmt.Errorf("%q may be meant as a regular expression; a match has only * for any characters, and name= of %s and %s takes *, ? and [a-z]", name, AttrExpire, AttrConvert)
	}
	r.name = name
	if r.age, err = parseSeconds(age); err != nil {
		return r, err
	}
	if r.age < ageMin {
		return r, fmt.Errorf("%s is less than a minute", age)
	}
	// EOS's bounds are "more than" and "less than", ours "at least" and "at most". EOS accepts units in either case.
	switch limit, err := parseSize(strings.ReplaceAll(strings.ToUpper(strings.TrimLeft(size, "<>")), "K", "k")); {
	case size == "":
	case err != nil || limit == 0 || size[0] != '<' && size[0] != '>' || strings.Count(size, "<")+strings.Count(size, ">") != 1:
		return r, fmt.Errorf("%s is no size, written <1M or >1G in powers of 1000", size)
	case size[0] == '<':
		r.max = limit - 1
	default:
		r.min = limit + 1
	}
	return r, nil
}

// parseSeconds reads a time as EOS does: a number of seconds, or one with s, min, h, d, w, mo (of 31 days) or y.
func parseSeconds(text string) (time.Duration, error) {
	n, unit, ok := number(text)
	day := 24 * time.Hour
	// Larger units have the same names as ours, except months and minutes.
	units := map[string]time.Duration{"": time.Second, "s": time.Second, "min": time.Minute, "h": time.Hour, "d": day, "w": 7 * day, "mo": 31 * day, "y": 365 * day}
	size := units[strings.ToLower(unit)]
	switch {
	case strings.EqualFold(unit, "m"): // EOS reads it as mega, which is never meant
		return 0, fmt.Errorf("%s is neither minutes (%dmin) nor months (%dmo)", text, n, n)
	case !ok || n == 0 || size == 0 || n > int64(100*ageUnit("y")/size):
		return 0, fmt.Errorf("%s is no time, written 3600, 30min, 12h, 30d, 4w, 6mo or 1y, up to 100y", text)
	}
	return time.Duration(n) * size, nil
}

// parseConversion reads a form: a layout id of EOS in hexadecimal, optionally followed by | and the placement of its
// pieces. The id's fields are, from the lowest bits: checksum (4 bits), layout (4), pieces less one (8), block size (4),
// checksum of blocks (4), pieces in excess (4), parity pieces (3). It fails with Invalid.
func parseConversion(attr, text string) (f hemera.Form, err error) {
	fail := func(format string, args ...any) (hemera.Form, error) {
		return hemera.Form{}, invalid(attr, text, fmt.Errorf(format, args...))
	}
	digits, placement, _ := strings.Cut(strings.TrimSpace(text), "|")
	id, err := strconv.ParseUint(strings.TrimPrefix(digits, "0x"), 16, 31)
	switch {
	case placement != "" && placement != "scattered":
		return fail("pieces go to different zones, nodes and disks; they cannot be placed %s", placement)
	case err != nil:
		return fail("%q is no layout id in hexadecimal", digits)
	case id>>24&0xf != 0:
		return fail("the layout has pieces in excess, which no layout here has")
	}
	// The index is the number in EOS.
	kinds := []string{"plain", "replica", "archive", "raiddp", "raid6", "qrain", "raid5"}
	kind, pieces, parity := int(id>>4&0xf), int(id>>8&0xff)+1, int(id>>28)
	switch {
	case kind >= len(kinds):
		return fail("layout %d is not known", kind)
	// The name of the layout implies a number of parities, but an explicit number has precedence.
	case kind >= 2 && parity > 0 && parity < pieces:
		f.Layout = hemera.ReedSolomon(pieces-parity, parity)
		err = f.Layout.Validate()
	// ParseLayout accepts any number with plain, as a space may have one for its other layouts.
	case kind == 0 && pieces > 1:
		err = fmt.Errorf("layout plain has one piece, not %d", pieces)
	default:
		f.Layout, err = hemera.ParseLayout(kinds[kind], pieces)
	}
	if err != nil {
		return fail("%s with %d pieces: %w", kinds[kind], pieces, plain(err))
	}
	// Pages always have checksums, so the checksum of blocks has no effect. Only coded layouts have blocks.
	if f.Layout.Coded() {
		sizes := []uint32{4 << 10, 64 << 10, 128 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}
		block := id >> 16 & 0xf // an index of sizes
		if block >= uint64(len(sizes)) || sizes[block] < hemera.BlockSizeMin || sizes[block] > hemera.BlockSizeMax {
			return fail("its blocks are too small or too large: the fifth digit from the right is 1 to 6, for blocks of 64k to 16M")
		}
		f.BlockSize = sizes[block]
		f.Layout = f.Layout.WithBlockSize(f.BlockSize)
	}
	// The key is the number in EOS. A checksum is added to those of the file; none adds nothing.
	sums := map[uint64]hemera.ChecksumKind{0: hemera.ChecksumNone, 1: hemera.ChecksumNone, 2: hemera.Adler32, 4: hemera.MD5, 6: hemera.CRC32C, 8: hemera.SHA256, 10: hemera.BLAKE3}
	sum, known := sums[id&0xf]
	if !known {
		return fail("its checksum is not there; the last digit is 2 for adler, 4 for md5, 6 for crc32c, 8 for sha256, a for blake3, or 1 for none")
	}
	f.Checksum = sum
	return f, nil
}
