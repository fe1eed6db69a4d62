package convert

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/config"
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

// page is the configuration while it is written: the draft that keepvip takes, and beside it the text for people.
type page struct {
	draft   config.Draft
	last    syntax.Origin // where what was written last comes from
	items   []item
	garbled []syntax.Origin // of values with bytes that are no text
	list    string          // whose next entry the next option begins

	silent bool              // there is no text
	short  map[string]string // how files are called in comments
	lines  []string
	kept   remarks         // the file's own comments that are not written yet
	said   map[string]bool // explanations of keepalived's defaults
}

// item is one element of a list, and where it and the list come from.
type item struct {
	text     string
	at, list syntax.Origin
}

// field is an option of a mapping. Its value is a string, a word, an int, a bool, a time.Duration or a []string.
type field struct {
	name  string
	value any
	from  source
}

// word is a value that needs no quotes.
type word string

// written is a value as keepvip's options take it, and as YAML has it.
func (p *page) written(value any, at syntax.Origin) (values []string, text string) {
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) {
			p.garbled = append(p.garbled, at)
		}
		return []string{v}, scalar(v)
	case []string:
		all := make([]string, len(v))
		for i, one := range v {
			_, all[i] = p.written(one, at)
		}
		return v, "[" + strings.Join(all, ", ") + "]"
	}
	text = fmt.Sprint(value)
	return []string{text}, text
}

func (p *page) remark(depth int, text string) {
	if !p.silent {
		p.lines = append(p.lines, strings.Repeat("  ", depth)+"# "+text)
	}
}

// line adds one line of text, at the depth of a key. The place is that of the line before where it has none.
func (p *page) line(key, text string, s source) syntax.Origin {
	if s.at.File != "" {
		p.last = s.at
	}
	if p.silent {
		return p.last
	}
	depth := strings.Count(key, ".")
	before, behind := p.kept.take(s.at)
	if strings.HasPrefix(text, "- ") {
		depth--
	}
	for _, remark := range before {
		p.remark(depth, plain(remark))
	}
	text = strings.Repeat("  ", depth) + text
	if comment := p.comment(s); comment != "" {
		text += "  # " + comment
	}
	if behind != "" {
		text += ": " + plain(behind)
	}
	p.lines = append(p.lines, text)
	return p.last
}

// open begins a mapping or a list.
func (p *page) open(key string, s source) { p.line(key, name(key)+":", s) }

// next has the next option begin an entry of a list.
func (p *page) next(list string) { p.list = list }

// set gives an option, by its key in the table of options.
func (p *page) set(key string, value any, s source) {
	values, text := p.written(value, s.at)
	p.draft.Set(key, origin(p.begin(key, name(key)+": "+text, s)), values...)
}

// begin adds the line of an option, and begins the entry of a list with it.
func (p *page) begin(key, text string, s source) syntax.Origin {
	list := p.list
	if p.list = ""; list == "" {
		return p.line(key, text, s)
	}
	at := p.line(key, "- "+text, s)
	p.draft.Entry(list, origin(at))
	return at
}

// flow gives the options of one mapping in one line: the mapping at a key, or the next entry of a list.
func (p *page) flow(key string, s source, fields ...field) {
	values, texts := make([][]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		values[i], texts[i] = p.written(f.value, s.at)
		texts[i] = f.name + ": " + texts[i]
	}
	at, text := key, "{"+strings.Join(texts, ", ")+"}"
	if p.list == "" {
		text = name(key) + ": " + text
	} else {
		at += "." // as of the options inside
	}
	from := origin(p.begin(at, text, s))
	for i, f := range fields {
		p.draft.Set(key+"."+f.name, from, values[i]...)
	}
}

// add adds an element to the list that is open.
func (p *page) add(key, value string, s source) {
	_, text := p.written(value, s.at)
	at := p.line(key+".", "- "+text, s)
	list := p.draft.Add(key, origin(at), value)
	p.items = append(p.items, item{text, at, syntax.Origin{File: list.Name, Line: list.Line}})
}

// name is the last part of a key.
func name(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

func origin(at syntax.Origin) config.Origin {
	return config.Origin{Source: config.File, Name: at.File, Line: at.Line}
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

// text is nil where there is none.
func (p *page) text() []byte {
	if p.silent {
		return nil
	}
	return []byte(strings.Join(p.lines, "\n") + "\n")
}

// element is where an element of the list at a place comes from; where there is none, that place.
func (p *page) element(at syntax.Origin, element string) syntax.Origin {
	for _, i := range p.items {
		if i.list == at && (i.text == element || i.text == strconv.QuoteToASCII(element)) {
			return i.at
		}
	}
	return at
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

// plain is text for a comment: one line, whatever is in it.
func plain(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return s
	}
	quoted := strconv.QuoteToASCII(s)
	return quoted[1 : len(quoted)-1]
}
