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

// The attributes of EOS that this package reads. Where an attribute of ours is set, EOS's for the same are not read.
const (
	// AttrMatch removes files: "*.tmp:3d,*:1mo:>1G".
	AttrMatch = "sys.lru.expire.match"
	// AttrConvertMatch converts files: "*.root:1mo:>1G". The form of each match stands in an attribute of its own, whose name is
	// [conversionPrefix] and the match.
	AttrConvertMatch = "sys.lru.convert.match"
	// attrConvertSpace is the space that converted files go to; without it they stay in theirs.
	attrConvertSpace = "sys.lru.conversion.space"
	// attrAccessTime has EOS keep the time of the last access, and makes all ages times without use.
	attrAccessTime   = "sys.force.atime"
	conversionPrefix = "sys.conversion."
	lruPrefix        = "sys.lru."
)

// isEOS reports whether an attribute is one of EOS's that make rules.
func isEOS(name string) bool {
	return name == AttrMatch || name == AttrConvertMatch || name == attrConvertSpace || name == attrAccessTime || strings.HasPrefix(name, conversionPrefix)
}

// checkEOS is CheckAttribute for an attribute of EOS that is read.
func checkEOS(name, text string) (forms []hemera.Form, err error) {
	// An empty value is as if the attribute were not set, as for attributes of ours.
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	switch name {
	// The two attributes of a conversion may be set in either order, so each is checked alone.
	case AttrMatch, AttrConvertMatch:
		_, err = parseMatches(name, text)
	case attrConvertSpace:
		return []hemera.Form{{Space: text}}, nil
	case attrAccessTime:
		// How fine EOS's times of access are does not matter here: accesses are noted by the day.
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

// refuseEOS is the error about an attribute sys.lru.* that is not read: it would do nothing, and files would stay that
// somebody expects to go.
func refuseEOS(name, text string) error {
	// For names that EOS does not know either.
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

// examplesEOS shows what an attribute of EOS takes.
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

// expireMatch makes the rules of [AttrMatch].
func expireMatch(attrs map[string][]byte) said {
	s := said{attr: AttrMatch}
	rules, err := parseMatches(AttrMatch, string(attrs[AttrMatch]))
	// Half of a value is no rule: what follows the mistake may be what was meant to be kept.
	if err != nil {
		s.ignored = append(s.ignored, string(attrs[AttrMatch])+": "+plain(err).Error())
		return s
	}
	for _, r := range rules {
		s.rules = append(s.rules, r.byAccess(attrs))
	}
	return s
}

// convertMatch makes the rules of [AttrConvertMatch]. A match whose form is not set, or makes no sense, is ignored.
func convertMatch(attrs map[string][]byte) said {
	s := said{attr: AttrConvertMatch}
	rules, err := parseMatches(AttrConvertMatch, string(attrs[AttrConvertMatch]))
	if err != nil {
		s.ignored = append(s.ignored, string(attrs[AttrConvertMatch])+": "+plain(err).Error())
		return s
	}
	// EOS goes through the matches in the order of their texts, so "*" comes before "*.root".
	slices.SortStableFunc(rules, func(a, b rule) int { return strings.Compare(a.name, b.name) })
	for _, r := range rules {
		name := conversionPrefix + r.name
		// One match that cannot be followed does not keep the others: conversions remove nothing.
		if len(attrs[name]) == 0 {
			s.ignored = append(s.ignored, r.name+": "+name+" is not set, which has the layout")
			continue
		}
		if r.form, err = parseConversion(name, string(attrs[name])); err != nil {
			s.ignored = append(s.ignored, name+": "+plain(err).Error())
			continue
		}
		// EOS would take sys.forced.space otherwise. Rules hold for a whole tree, and a directory below may have another one.
		r.form.Space = string(attrs[attrConvertSpace])
		s.rules = append(s.rules, r.byAccess(attrs))
	}
	return s
}

// byAccess is the rule with its age as a time without use, where EOS would keep the time of the last access.
func (r rule) byAccess(attrs map[string][]byte) rule {
	if len(attrs[attrAccessTime]) > 0 {
		r.age, r.unused = 0, r.age
	}
	return r
}

// parseMatches reads the value of [AttrMatch] or [AttrConvertMatch]. The rules have no form. Invalid.
func parseMatches(attr, text string) (rules []rule, err error) {
	for part := range strings.SplitSeq(text, ",") {
		// EOS passes over empty parts.
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
	// EOS's documentation has patterns with *, and some versions of EOS read them as regular expressions. What means one thing
	// as a pattern and another as an expression could remove the wrong files.
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
	// More than and less than, where our words say at least and at most. EOS reads units of either case.
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
	// Larger units than ours have the same names, but for months and minutes.
	units := map[string]time.Duration{"": time.Second, "s": time.Second, "min": time.Minute, "h": time.Hour, "d": day, "w": 7 * day, "mo": 31 * day, "y": 365 * day}
	size := units[strings.ToLower(unit)]
	switch {
	case strings.EqualFold(unit, "m"): // EOS takes it for mega, which nobody means
		return 0, fmt.Errorf("%s is neither minutes (%dmin) nor months (%dmo)", text, n, n)
	case !ok || n == 0 || size == 0 || n > int64(100*ageUnit("y")/size):
		return 0, fmt.Errorf("%s is no time, written 3600, 30min, 12h, 30d, 4w, 6mo or 1y, up to 100y", text)
	}
	return time.Duration(n) * size, nil
}

// parseConversion reads a form: a layout id of EOS in hexadecimal, and behind a | how its pieces are placed. The id's fields
// are, from the lowest bits: checksum (4 bits), layout (4), pieces less one (8), block size (4), checksum of blocks (4), pieces
// in excess (4), parity pieces (3). Invalid.
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
	// By their numbers in EOS.
	kinds := []string{"plain", "replica", "archive", "raiddp", "raid6", "qrain", "raid5"}
	kind, pieces, parity := int(id>>4&0xf), int(id>>8&0xff)+1, int(id>>28)
	switch {
	case kind >= len(kinds):
		return fail("layout %d is not known", kind)
	// The layout is named for its parities, but the number of them counts where it is there.
	case kind >= 2 && parity > 0 && parity < pieces:
		f.Layout = hemera.ReedSolomon(pieces-parity, parity)
		err = f.Layout.Validate()
	// ParseLayout takes any number with plain, as a space may have one for its other layouts.
	case kind == 0 && pieces > 1:
		err = fmt.Errorf("layout plain has one piece, not %d", pieces)
	default:
		f.Layout, err = hemera.ParseLayout(kinds[kind], pieces)
	}
	if err != nil {
		return fail("%s with %d pieces: %w", kinds[kind], pieces, plain(err))
	}
	// Pages always have checksums, so that of blocks asks for nothing, and only coded layouts have blocks.
	if f.Layout.Coded() {
		sizes := []uint32{4 << 10, 64 << 10, 128 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20}
		block := id >> 16 & 0xf // an index of sizes
		if block >= uint64(len(sizes)) || sizes[block] < hemera.BlockSizeMin || sizes[block] > hemera.BlockSizeMax {
			return fail("its blocks are too small or too large: the fifth digit from the right is 1 to 6, for blocks of 64k to 16M")
		}
		f.BlockSize = sizes[block]
		f.Layout = f.Layout.WithBlockSize(f.BlockSize)
	}
	// By their numbers in EOS. A checksum is added to those that a file has; none asks for nothing.
	sums := map[uint64]hemera.ChecksumKind{0: hemera.ChecksumNone, 1: hemera.ChecksumNone, 2: hemera.Adler32, 4: hemera.MD5, 6: hemera.CRC32C, 8: hemera.SHA256, 10: hemera.BLAKE3}
	sum, known := sums[id&0xf]
	if !known {
		return fail("its checksum is not there; the last digit is 2 for adler, 4 for md5, 6 for crc32c, 8 for sha256, a for blake3, or 1 for none")
	}
	f.Checksum = sum
	return f, nil
}
