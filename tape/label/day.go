package label

import (
	"strconv"
	"time"
)

// Day is a local date as labels have it: a year and a day of it, from 1. The zero value is no date.
type Day struct{ Year, YearDay int }

// DayOf returns the date of t in its time zone.
func DayOf(t time.Time) Day { return Day{Year: t.Year(), YearDay: t.YearDay()} }

// putDay writes six bytes: the century, which is a space for 19xx and a digit from 0 for 20xx, two digits of the year, three of the day.
func (l *Label) putDay(off int, d Day) {
	// A century of the standard's time is a space; digits continue from 2000.
	l[off] = ' '
	if d.Year >= 2000 {
		l[off] = '0' + byte((d.Year/100-20)%10)
	}
	l.number(off+1, 2, uint64(max(d.Year, 0)%100))
	l.number(off+3, 3, uint64(max(d.YearDay, 0)))
}

// day reads what putDay wrote.
func (r *reader) day(field string, off int) (d Day) {
	if r.err != nil {
		return d
	}
	century, digits := r.b[off], string(r.b[off+1:off+6])
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || len(digits) != 5 || century != ' ' && (century < '0' || century > '9') {
		r.fail(field, strconv.Quote(string(r.b[off:off+6]))+" is not a date")
		return d
	}
	// Spaces and zeros mean that there is no date.
	if century == ' ' && n == 0 {
		return d
	}
	d = Day{Year: 1900 + int(n/1000), YearDay: int(n % 1000)}
	if century != ' ' {
		d.Year += 100 * int(century-'0'+1)
	}
	if d.YearDay < 1 || d.YearDay > 366 {
		r.fail(field, "day "+strconv.Itoa(d.YearDay)+" of a year")
	}
	return d
}
