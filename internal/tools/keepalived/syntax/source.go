package syntax

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// line is one line on its way through the replacements.
type line struct {
	at   Origin
	text string
	set  []assignment // made before the line is looked at: a sequence's variables
}

type assignment struct{ name, value string }

// source is one file that is being read.
type source struct {
	name  string // as it is told to people
	dir   string // what paths in it are relative to
	lines []string
	next  int
	ahead []line // what replacements left, before the next of lines; the first of them is the last
}

// zeroes is a zero byte with the rest of its line.
var zeroes = regexp.MustCompile("\x00[^\n]*")

// open puts a file on the stack. The first line of it is the next that is read.
func (r *reader) open(path string) error {
	if r.opened++; r.opened > maxFiles {
		return fmt.Errorf("more than %d files", maxFiles)
	}
	data, err := r.files.Read(path)
	if err != nil {
		return err
	}
	at := Origin{File: path, Line: 1}
	if rest, found := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); found {
		r.problem(at, CodeCharacters, "the file begins with a byte order mark, so keepalived does not know its first keyword", "save it without one")
		data = rest
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		at.Line += bytes.Count(data[:i], []byte("\n"))
		r.problem(at, CodeCharacters, "a zero byte: keepalived drops the rest of the line", "remove it")
		data = zeroes.ReplaceAll(data, nil)
	}
	if !slices.Contains(r.names, path) {
		r.names = append(r.names, path)
	}
	r.sources = append(r.sources, &source{name: path, dir: filepath.Dir(path), lines: strings.Split(string(data), "\n")})
	return nil
}

// physical is the next line of a file, without its end.
func (r *reader) physical(s *source) (text string, at Origin) {
	text, at = s.lines[s.next], Origin{File: s.name, Line: s.next + 1}
	s.next++
	if len(text) > maxLine {
		r.problem(at, CodeLength, fmt.Sprintf("a line of %d characters: keepalived cuts it after %d and reads the rest as another line", len(text), maxLine+1), "make it several lines")
	}
	r.lookalike(text, at)
	r.remark(strings.TrimRight(text, "\r"), at)
	return strings.TrimRight(text, "\r"), at
}

// next is the next line of the innermost file: one that a replacement left, or one of the file.
func (r *reader) next() (line, bool) {
	for len(r.sources) > 0 {
		s := r.sources[len(r.sources)-1]
		if n := len(s.ahead); n > 0 {
			l := s.ahead[n-1]
			s.ahead = s.ahead[:n-1]
			return l, true
		}
		if s.next < len(s.lines) {
			text, at := r.physical(s)
			return line{text: text, at: at}, true
		}
		r.sources = r.sources[:len(r.sources)-1]
	}
	return line{}, false
}

// push makes lines the next ones, in their order. All that replacements make is bounded, so that a definition of itself has an end.
func (r *reader) push(at Origin, lines ...line) {
	if r.pushed += len(lines); r.pushed > maxLines {
		r.full(at)
		return
	}
	s := r.sources[len(r.sources)-1]
	for i := len(lines) - 1; i >= 0; i-- {
		s.ahead = append(s.ahead, lines[i])
	}
}
