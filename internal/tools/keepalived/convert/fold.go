package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// mostPlaces is how many further places a folded finding names.
const mostPlaces = 5

var particular = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9A-Fa-f]*[0-9][-0-9A-Za-z.:/]*|/[-A-Za-z0-9._/]+`)
})

// Folded are the findings with one for each kind of change, which says how often it is there, and where else. Errors are not folded: each has to
// be seen to.
func (r Result) Folded() []keepalived.Finding {
	type kind struct {
		severity keepalived.Severity
		code     string
		text     string
	}
	var out []keepalived.Finding
	at := map[kind]int{}
	others := map[int][]string{}
	for _, f := range r.Findings {
		k := kind{f.Severity, f.Code, r.general(f.Text)}
		i, known := at[k]
		if !known || f.Severity == keepalived.Fault {
			at[k], out = len(out), append(out, f)
			continue
		}
		place := f.Origin.String()
		if f.File == out[i].File {
			place = fmt.Sprint(f.Line)
		}
		if !slices.Contains(others[i], place) {
			others[i] = append(others[i], place)
		}
	}
	for i, list := range others {
		more := ""
		if n := len(list) - mostPlaces; n > 0 {
			list, more = list[:mostPlaces], fmt.Sprintf(" and %d more", n)
		}
		out[i].Text += fmt.Sprintf(" (%d times, also at %s%s)", len(others[i])+1, strings.Join(list, ", "), more)
	}
	return out
}

// general is a text without what is particular to a place: names, numbers, addresses and paths.
func (r Result) general(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if r.names[strings.TrimRight(w, ":,;")] {
			words[i] = "*"
		}
	}
	return particular().ReplaceAllString(strings.Join(words, " "), "*")
}

// namesOf are the names of what a file defines.
func namesOf(c *keepalived.Config) map[string]bool {
	out := map[string]bool{}
	for _, i := range c.Instances {
		out[i.Name] = true
	}
	for _, s := range c.Scripts {
		out[s.Name] = true
	}
	for _, f := range c.Files {
		out[f.Name] = true
	}
	for _, p := range c.Processes {
		out[p.Name] = true
	}
	for _, g := range c.Groups {
		out[g.Name] = true
	}
	return out
}
