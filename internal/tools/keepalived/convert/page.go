package convert

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// source is where a line of the text comes from: a place, or why it is there.
type source struct {
	at  syntax.Origin
	why string
}

// Sources without a line.
var (
	nowhere   = source{}
	byDefault = source{why: "keepalived's default"}
)

func placed(at syntax.Origin) source { return source{at: at} }

// comment is what stands behind a line.
func (p *page) comment(s source) string {
	at := s.at
	if short, ok := p.short[at.File]; ok {
		at.File = short
	}
	switch {
	case at.File == "":
		return s.why
	case s.why == "":
		return plain(at.String())
	}
	return plain(at.String()) + " (" + plain(s.why) + ")"
}

// shortened are the last elements of paths, where no two are the same.
func shortened(paths []string) map[string]string {
	count, out := map[string]int{}, map[string]string{}
	for _, path := range paths {
		count[base(path)]++
	}
	for _, path := range paths {
		if count[base(path)] == 1 {
			out[path] = base(path)
		}
	}
	return out
}

// page is the text while it is written.
type page struct {
	short map[string]string // how files are called in comments
	lines []string
	at    []syntax.Origin // of each line; the one before counts where it is empty
	bytes []syntax.Origin // of lines with bytes that are no text
	kept  remarks         // the file's own comments that are not written yet
	said  map[string]bool // explanations of keepalived's defaults
}

func (p *page) remark(text string) {
	p.lines, p.at = append(p.lines, "# "+text), append(p.at, syntax.Origin{})
}

// line adds one line at a depth of two spaces each.
func (p *page) line(depth int, text string, s source) {
	if garbled(text) {
		p.bytes = append(p.bytes, s.at)
	}
	before, behind := p.kept.take(s.at)
	for _, remark := range before {
		p.remark(plain(remark))
		p.lines[len(p.lines)-1] = strings.Repeat("  ", depth) + p.lines[len(p.lines)-1]
	}
	text = strings.Repeat("  ", depth) + text
	if comment := p.comment(s); comment != "" {
		text += "  # " + comment
	}
	if behind != "" {
		text += ": " + plain(behind)
	}
	at := s.at
	if at.File == "" && len(p.at) > 0 {
		at = p.at[len(p.at)-1]
	}
	p.lines, p.at = append(p.lines, text), append(p.at, at)
}

// once is an explanation the first time, and empty from then on.
func (p *page) once(text string) string {
	if p.said[text] {
		return ""
	}
	if p.said == nil {
		p.said = map[string]bool{}
	}
	p.said[text] = true
	return text
}

func (p *page) text() []byte { return []byte(strings.Join(p.lines, "\n") + "\n") }

// origin is where line n of the text comes from, counted from 1.
func (p *page) origin(n int) syntax.Origin {
	if n < 1 || n > len(p.at) {
		return syntax.Origin{}
	}
	return p.at[n-1]
}

// element is where an element of the list that begins at line n comes from; where there is none, that line's place.
func (p *page) element(n int, element string) syntax.Origin {
	for i := max(n, 0); i < len(p.lines); i++ {
		text, _, _ := strings.Cut(strings.TrimSpace(p.lines[i]), "  #")
		switch rest, listed := strings.CutPrefix(text, "- "); {
		case strings.HasPrefix(text, "#"):
		case !listed:
			return p.origin(n)
		case rest == element, rest == strconv.QuoteToASCII(element):
			return p.at[i]
		}
	}
	return p.origin(n)
}

var simple = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_/][-A-Za-z0-9_./=]*$|^[0-9]+(\.[0-9]+){3}(/[0-9]+)?$`)
})

// scalar writes a string as YAML: in quotes unless it cannot be taken for anything else.
func scalar(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
	default:
		if simple().MatchString(s) {
			return s
		}
	}
	return strconv.QuoteToASCII(s) // every escape of it is one of YAML's, as long as s is UTF-8
}

// garbled tells whether scalar has written a byte that is none of a character in UTF-8, which YAML would take for one: as \xff, behind an even
// number of other backslashes.
func garbled(text string) bool {
	for i := 0; i+2 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if text[i+1] == 'x' && text[i+2] >= '8' {
			return true
		}
		i++ // what is behind a backslash begins no other escape
	}
	return false
}

// words writes a list of strings.
func words(all []string) string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = scalar(w)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// plain is text for a comment: one line, whatever is in it.
func plain(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return s
	}
	quoted := strconv.QuoteToASCII(s)
	return quoted[1 : len(quoted)-1]
}

// duration writes one as keepvip reads it.
func duration(d time.Duration) string { return d.String() }
