package manual

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// page is a manual page being written.
type page struct{ bytes.Buffer }

func newPage(name, section, version string, date time.Time) *page {
	p := &page{}
	fmt.Fprintf(p, ".TH %s %s %s \"keepvip %s\"\n", strings.ToUpper(roff(name)), section, date.UTC().Format(time.DateOnly), version)
	p.raw(".nh\n.ad l\n")
	return p
}

func (p *page) bytes() []byte { return p.Bytes() }

func (p *page) raw(s string) { p.WriteString(s) }

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", line(title)) }

// paragraphs are separated by empty lines.
func (p *page) paragraphs(text string) {
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			p.raw(".PP\n")
		}
		for l := range strings.Lines(part) {
			p.raw(line(strings.TrimRight(l, "\n")) + "\n")
		}
	}
}

// example keeps its lines.
func (p *page) example(text string) {
	p.raw(".EX\n")
	for l := range strings.Lines(strings.Trim(text, "\n")) {
		p.raw(guard(roff(strings.TrimRight(l, "\n"))) + "\n")
	}
	p.raw(".EE\n")
}

// roff escapes what troff would take for its own.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`", "^", `\(ha`, "~", `\(ti`).Replace(s)
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	linkSpan = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
)

// line is one line of text, with what stands in backquotes in bold.
func line(s string) string {
	s = linkSpan.ReplaceAllString(s, "$1")
	var b strings.Builder
	last := 0
	for _, m := range codeSpan.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(roff(s[last:m[0]]) + `\fB` + roff(strings.ReplaceAll(s[m[2]:m[3]], `\|`, "|")) + `\fR`)
		last = m[1]
	}
	b.WriteString(roff(s[last:]))
	return guard(b.String())
}

// guard keeps a line from being a request.
func guard(s string) string {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, `\(aq`) {
		return `\&` + s
	}
	return s
}
