package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/keepvip/keepvip/internal/base/lack"
	"github.com/keepvip/keepvip/internal/base/regular"
	"github.com/keepvip/keepvip/internal/config"
)

const (
	// leastPoints is what is unhealthy altogether, and all below it; mostPoints is the most that is added.
	leastPoints, mostPoints = -254, 253
	// maxNumber bounds what is read of such a file; what is behind it does not count.
	maxNumber = 127
	// mostNumber bounds the number: with any weight but 0 it comes to the bounds of the points.
	mostNumber = 1 << 16
)

type numberProber struct {
	check config.ListedCheck
	seen  bool // the file was there once
	last  int  // the newest number
	empty bool // the file was empty at the last look
	call  patient[numberFound]
}

type numberFound struct {
	text string
	err  error
}

// Number makes the Prober of a file with a number that moves this node's priority, as keepalived's track_file. Its
// Results have Points: the number times the weight, taken off where the check is reversed. With weight 0 any number but
// 0 is unhealthy, or 0 where it is reversed. A file that is not there, and text that is no number, are 0. What it finds
// is definite; a file that cannot be read is a failure, and moves nothing by itself.
func Number(h config.ListedCheck) Prober { return &numberProber{check: h, last: h.Initial} }

// Probe implements [Prober].
func (p *numberProber) Probe(ctx context.Context) Result {
	f, err := p.call.do(ctx, func() (f numberFound) {
		f.text, f.err = readNumber(p.check.Path)
		return f
	})
	if err == nil {
		err = f.err
	}
	return p.take(f.text, err)
}

func readNumber(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not hold it up
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", cmp.Or(err, errors.New("not a regular file"))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxNumber))
	return string(text), err
}

// take makes a Result of what was read. A file that is empty may be one that is being written: it counts from the second look on.
func (p *numberProber) take(text string, err error) Result {
	switch missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR); {
	case missing && !p.seen:
		return p.result("is not there yet")
	case missing:
		p.last, p.empty = 0, false
		return p.result("is not there")
	case lack.Of(err) != "":
		return unasked(lack.Of(err), err)
	case err != nil:
		r := p.result("")
		return Result{Outcome: Fail, Points: r.Points, Reason: p.check.Path + ": " + regular.Plain(err).Error()}
	case text == "" && p.seen && !p.empty:
		p.empty = true
		return p.result("is empty")
	}
	p.seen, p.empty = true, text == ""
	p.last = leadingNumber(text)
	return p.result(fmt.Sprintf("says %d", p.last))
}

// result is what the newest number comes to.
func (p *numberProber) result(what string) Result {
	if p.check.Weight == 0 {
		if (p.last != 0) != p.check.Reverse {
			return Result{Outcome: Down, Reason: p.check.Path + " " + what}
		}
		return Result{Reason: p.check.Path + " " + what}
	}
	points := p.last * p.check.Weight
	if p.check.Reverse {
		points = -points
	}
	points = min(max(points, leastPoints), mostPoints)
	r := Result{Reason: fmt.Sprintf("%s %s: %+d", p.check.Path, what, points), Points: points}
	if points == leastPoints {
		return Result{Outcome: Down, Reason: r.Reason}
	}
	return r
}

// leadingNumber reads a number as C's strtol does with base 0: white space, a sign, 0x for hexadecimal and 0 for octal digits, and nothing of what
// is behind them. It is 0 where there is none, and between -mostNumber and mostNumber.
func leadingNumber(s string) int {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	sign := 1
	if rest, minus := strings.CutPrefix(s, "-"); minus {
		s, sign = rest, -1
	} else {
		s = strings.TrimPrefix(s, "+")
	}
	base := 10
	switch {
	case len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && digit(s[2]) < 16:
		s, base = s[2:], 16
	case strings.HasPrefix(s, "0"):
		base = 8
	}
	n := 0
	for i := 0; i < len(s) && digit(s[i]) < base; i++ {
		n = min(n*base+digit(s[i]), mostNumber)
	}
	return sign * n
}

// digit is the value of a digit, and more than any base for what is none.
func digit(c byte) int {
	const none = 99
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return none
}
