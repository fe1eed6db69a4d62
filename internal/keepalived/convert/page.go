package convert

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/keepalived/syntax"
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
}

func (p *page) remark(text string) {
	p.lines, p.at = append(p.lines, "# "+text), append(p.at, syntax.Origin{})
}

// line adds one line at a depth of two spaces each.
func (p *page) line(depth int, text string, s source) {
	text = strings.Repeat("  ", depth) + text
	if comment := p.comment(s); comment != "" {
		text += "  # " + comment
	}
	at := s.at
	if at.File == "" && len(p.at) > 0 {
		at = p.at[len(p.at)-1]
	}
	p.lines, p.at = append(p.lines, text), append(p.at, at)
}

func (p *page) text() []byte { return []byte(strings.Join(p.lines, "\n") + "\n") }

// origin is where line n of the text comes from, counted from 1.
func (p *page) origin(n int) syntax.Origin {
	if n < 1 || n > len(p.at) {
		return syntax.Origin{}
	}
	return p.at[n-1]
}

var simple = regexp.MustCompile(`^[A-Za-z_/][-A-Za-z0-9_./=]*$|^[0-9]+(\.[0-9]+){3}(/[0-9]+)?$`)

// scalar writes a string as YAML: in quotes unless it cannot be taken for anything else.
func scalar(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
	default:
		if simple.MatchString(s) {
			return s
		}
	}
	return strconv.QuoteToASCII(s) // every escape of it is one of YAML's, as long as s is UTF-8
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
