package tool

import (
	"bytes"
	"encoding/json"
	"errors"

	"hemera/words/errs"
)

// beginningsMax bounds the places in an output that are tried as the beginning of a report: each may need a pass over the
// output.
const beginningsMax = 64

// Report decodes the first JSON object with the key in the output of a program into v. It skips other text, and further
// reports. Numbers may have the decimal comma of a locale. Texts that are not numbers, such as -nan, count as missing. It
// fails with NotFound if there is no such object, and with Invalid if it does not fit v.
func Report(out []byte, key string, v any) error {
	tried := 0
	for at := range out {
		if out[at] != '{' {
			continue
		}
		if tried++; tried > beginningsMax {
			break
		}
		object, ok := object(out[at:])
		var fields map[string]json.RawMessage
		if !ok || json.Unmarshal(object, &fields) != nil || fields[key] == nil {
			continue
		}
		if err := json.Unmarshal(object, v); err != nil {
			return errs.New(errs.Invalid, "tool.Report", key, err.Error())
		}
		return nil
	}
	return errs.New(errs.NotFound, "tool.Report", key, "the output has no report")
}

// object returns the object at the begin of a text, with numbers in JSON's form. It returns false if the object has no
// end.
func object(text []byte) (clean []byte, ok bool) {
	var open []byte // open brackets
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			end := at + 1
			for end < len(text) && text[end] != '"' {
				// A backslash and the escaped character.
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil, false
			}
			clean = append(clean, text[at:end+1]...)
			at = end
			continue
		case c == '{' || c == '[':
			open = append(open, c)
		case c == '}' || c == ']':
			open = open[:len(open)-1]
			if len(open) == 0 {
				return append(clean, c), true
			}
		// In an object a key follows a comma: between digits the comma is the decimal point of another locale.
		case c == ',' && open[len(open)-1] == '{' && at+1 < len(text) && isDigit(text[at-1]) && isDigit(text[at+1]):
			clean = append(clean, '.')
			continue
		default:
			if n := notANumber(text[at:]); n > 0 {
				clean = append(clean, "null"...)
				at += n - 1
				continue
			}
		}
		clean = append(clean, text[at])
	}
	return nil, false
}

// isDigit reports whether c is from 0 to 9.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// notANumber returns the length of printf's text for a value that is not a number, at the begin of a text; 0 for other
// texts.
func notANumber(text []byte) int {
	sign := 0
	if len(text) > 0 && text[0] == '-' {
		sign = 1
	}
	const length = 3
	if len(text) >= sign+length {
		switch word := bytes.ToLower(text[sign : sign+length]); string(word) {
		case "nan", "inf":
			return sign + length
		}
	}
	return 0
}

// Kept adds the path of the program's raw output to a parser's error of kind Invalid. It does not change other errors.
func Kept(err error, raw string) error {
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind != errs.Invalid {
		return err
	}
	return e.WithRemedy("what the program wrote is in " + raw + "; another version of it may write what is understood")
}
