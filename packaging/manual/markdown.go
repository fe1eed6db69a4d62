package manual

import (
	"regexp"
	"strings"
	"time"
)

// Configuration renders keepvip.yaml(5) from the reference in Markdown: headings, paragraphs, lists, code and tables.
func Configuration(reference []byte, version string, date time.Time) Page {
	p := newPage("keepvip.yaml", "5", version, date)
	p.section("NAME")
	p.raw("keepvip.yaml \\- the configuration of keepvip\n")
	p.section("DESCRIPTION")
	m := markdown{page: p, headed: true}
	for l := range strings.Lines(string(reference)) {
		m.line(strings.TrimRight(l, "\n"))
	}
	p.section("SEE ALSO")
	p.raw(".BR keepvip (8)\n")
	return Page{Name: "keepvip.yaml.5", Text: p.bytes()}
}

// markdown is a reader of the little that the reference uses.
type markdown struct {
	*page
	code    bool
	between bool     // an empty line came before
	headed  bool     // nothing came since the heading
	heads   []string // of the table that is being read
}

func (m *markdown) line(l string) {
	switch {
	case strings.HasPrefix(l, "```"):
		m.fence()
	case m.code:
		m.raw(guard(roff(l)) + "\n")
	case strings.HasPrefix(l, "# "), strings.HasPrefix(l, "<!--"):
	case strings.HasPrefix(l, "## "):
		m.section(strings.ToUpper(l[3:]))
		m.headed = true
	case strings.HasPrefix(l, "### "):
		m.raw(".SS " + line(l[4:]) + "\n")
		m.headed = true
	case strings.HasPrefix(l, "|"):
		m.row(cells(l))
	case l == "":
		m.between, m.heads = true, nil
	case strings.HasPrefix(l, "- "):
		m.raw(".IP \\(bu 2\n" + line(l[2:]) + "\n")
		m.between, m.headed = false, false
	default:
		m.text(l)
	}
}

func (m *markdown) fence() {
	m.code = !m.code
	if m.code {
		m.between = true
		m.paragraph()
		m.raw(".EX\n")
	} else {
		m.raw(".EE\n")
	}
}

// paragraph begins one, unless a heading has.
func (m *markdown) paragraph() {
	if m.between && !m.headed {
		m.raw(".PP\n")
	}
	m.between, m.headed = false, false
}

func (m *markdown) text(l string) {
	m.paragraph()
	m.raw(line(strings.TrimSpace(l)) + "\n")
}

var rule = regexp.MustCompile(`^[-: ]*$`)

// row is the head of a table, or a paragraph with the first cell as its label: the sentence of the last cell, then the others.
func (m *markdown) row(cells []string) {
	switch {
	case m.heads == nil:
		m.heads = cells
		return
	case rule.MatchString(strings.Join(cells, "")):
		return
	}
	m.headed = false
	m.raw(".TP\n" + line(cells[0]) + "\n" + line(cells[len(cells)-1]) + ".\n")
	for i := 1; i < len(cells)-1 && i < len(m.heads); i++ {
		if cells[i] != "" {
			m.raw(".br\n" + line(m.heads[i]+": "+cells[i]) + "\n")
		}
	}
}

// cells splits a row at the bars that are not escaped.
func cells(l string) []string {
	const bar = "\x00"
	l = strings.ReplaceAll(strings.Trim(l, " "), `\|`, bar)
	parts := strings.Split(strings.Trim(l, "|"), "|")
	for i := range parts {
		parts[i] = strings.ReplaceAll(strings.TrimSpace(parts[i]), bar, "|")
	}
	return parts
}
