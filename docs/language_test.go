package docs_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
)

// most is how often the pages offend against a rule of plain English that a machine can see. A number may only fall: whoever writes the last
// offender of a kind anew lowers it here.
var most = map[string]int{
	"forbidden words":                                4,
	"sentences over 30 words":                        0,
	"sentences that begin with Of, Who, What or One": 0,
	"lines over 120 columns":                         0,
}

// forbidden words have a plainer one: immediately, repair, with Raft, with VRRP.
var forbidden = regexp.MustCompile(`(?i)\b(at once|mend(s|ed|ing)?|by raft|by vrrp|whereof|thereof|amidst|in the midst)\b`)

var (
	sentenceEnd = regexp.MustCompile(`[.!?:;](\s|$)`)
	riddle      = regexp.MustCompile(`^(Of|Who|What|One)\b`)
	fence       = regexp.MustCompile("(?ms)^```.*?^```$")
	question    = regexp.MustCompile(`\?\s*$`)
)

// offences counts the offences of a page, by rule. Code, tables and headings are left out of what is about sentences, and code and tables of
// what is about lines.
func offences(text string) map[string]int {
	out := map[string]int{"forbidden words": len(forbidden.FindAllString(text, -1))}
	text = fence.ReplaceAllString(text, "")
	var prose strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "|") {
			line = ""
		} else if len([]rune(line)) > 120 {
			out["lines over 120 columns"]++
		}
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "- ") || regexp.MustCompile(`^\d+\. `).MatchString(line) {
			prose.WriteString(". ") // a paragraph ends, or an item begins
		}
		if !strings.HasPrefix(line, "#") {
			prose.WriteString(strings.TrimLeft(strings.TrimPrefix(line, "- "), "0123456789. ") + " ")
		}
	}
	for _, s := range sentenceEnd.Split(prose.String(), -1) {
		words := strings.FieldsFunc(s, unicode.IsSpace)
		if len(words) > 30 {
			out["sentences over 30 words"]++
		}
		if len(words) > 3 && riddle.MatchString(words[0]) && !question.MatchString(s) {
			out["sentences that begin with Of, Who, What or One"]++
		}
	}
	return out
}

func TestOffencesAreSeen(t *testing.T) {
	long := strings.Repeat("word ", 31)
	assert.Equal(t, map[string]int{
		"forbidden words": 1, "sentences over 30 words": 1, "sentences that begin with Of, Who, What or One": 2, "lines over 120 columns": 1,
	}, offences("It ends at once. Of these two are left. What is there stays.\n\n"+long+".\n| Who is in a table | "+long+" |\n```\nOne in code that is code\n```\n"))
}

// Plain English is for readers whose first language is another one.
func TestThePagesBecomePlainer(t *testing.T) {
	sum := map[string]int{}
	for page, text := range pages(t) {
		if page == "../CHANGELOG.md" || page == "../CODE_OF_CONDUCT.md" {
			continue // it tells of what was, and the other one is given
		}
		for rule, n := range offences(text) {
			sum[rule] += n
		}
	}
	for rule, ceiling := range most {
		assert.LessOrEqual(t, sum[rule], ceiling, "%s: write the new one plainer", rule)
	}
}
