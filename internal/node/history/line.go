package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

const (
	// header is the first line of the file. A format that this program could not read has another number.
	header     = headerText + "1\n"
	headerText = "keepvip history "
	// maxLine is more than any line has, in bytes.
	maxLine = 4096
	// maxNumber is far from where a count could overflow, and JSON's numbers are exact up to there.
	maxNumber = 1 << 52
)

// sumLength is that of a checksum (CRC-32), in hexadecimal digits; a blank follows it.
const sumLength = 8

// line is a Record as the file has it: the checksum of the JSON, a blank, the JSON, a line feed.
type line struct {
	number uint64
	vip    string
	fault  bool // and no move
	text   []byte
}

// json is the Record alone.
func (l line) json() []byte { return l.text[sumLength+1 : len(l.text)-1] }

func encode(r Record) line {
	var b bytes.Buffer
	b.WriteString("00000000 ")
	r = r.bounded()
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(r) // never fails for these types
	text := b.Bytes()
	copy(text, sum(text[sumLength+1:len(text)-1]))
	return line{number: r.Number, vip: r.Name, fault: r.Fault != "", text: text}
}

func sum(b []byte) []byte {
	return fmt.Appendf(nil, "%0*x", sumLength, crc32.ChecksumIEEE(b))
}

// decode takes one line with its line feed; ok is false for one that is not as it was written.
func decode(text []byte) (l line, r Record, ok bool) {
	if len(text) < sumLength+2 || len(text) > maxLine || text[len(text)-1] != '\n' || text[sumLength] != ' ' {
		return l, r, false
	}
	l.text = text
	if !bytes.Equal(sum(l.json()), text[:sumLength]) {
		return l, r, false
	}
	if err := json.Unmarshal(l.json(), &r); err != nil || r.Number == 0 || r.Number > maxNumber {
		return l, r, false
	}
	r = r.bounded()
	l.number, l.vip, l.fault = r.Number, r.Name, r.Fault != ""
	return l, r, true
}

// content is what a file holds.
type content struct {
	lines   []line
	whole   bool // every byte of it was understood, and lines may be appended
	damaged int  // lines that were not as they were written
}

// errForeign is that of a file that must not be written.
var errForeign = errors.New("not a file of this release")

// parse takes no more for granted than that b is a file's beginning. The error is of a file that is not ours to write.
func parse(b []byte) (content, error) {
	rest, ours := bytes.CutPrefix(b, []byte(header))
	if !ours {
		return content{}, foreign(b)
	}
	c := content{whole: true}
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest) // torn
		}
		if l, _, ok := decode(rest[:end:end]); ok {
			c.lines = append(c.lines, l)
		} else {
			c.whole, c.damaged = false, c.damaged+1
		}
		rest = rest[end:]
	}
	return c, nil
}

// foreign says what a file without our header is. One whose header was never completed is ours: a power cut may leave the beginning of it, or
// zeros.
func foreign(b []byte) error {
	if strings.HasPrefix(header, string(b)) || len(bytes.Trim(b, "\x00")) == 0 {
		return nil
	}
	if version, known := bytes.CutPrefix(b, []byte(headerText)); known {
		version, _, _ = bytes.Cut(version[:min(len(version), 10)], []byte("\n"))
		return fmt.Errorf("%w: version %q, want 1; run the release that wrote it, or remove the file", errForeign, version)
	}
	return fmt.Errorf("%w: it is no history of keepvip's; remove it, or name another --state-dir", errForeign)
}
