package explain

import (
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
)

// Fact is one link of the chain.
type Fact struct {
	Code   code.Code `json:"code,omitempty"` // empty for a fact that is as it should be
	Text   string    `json:"text"`
	Since  time.Time `json:"since,omitzero"`   // absent where it is not known
	Remedy string    `json:"remedy,omitempty"` // what an operator does; absent where nothing has to be done
}

// nothing begins the remedy of an entry that needs none.
const nothing = "Nothing has to be done"

// remedyOf is what the table of codes says.
func remedyOf(c code.Code) string {
	if r := c.Entry().Remedy; !strings.HasPrefix(r, nothing) {
		return r
	}
	return ""
}

// say appends a fact with the remedy of its code.
func (c *chain) say(of code.Code, since time.Time, text string) {
	c.facts = append(c.facts, Fact{Code: of, Text: text, Since: since, Remedy: remedyOf(of)})
}

// fine appends a fact that is as it should be, or that others explain.
func (c *chain) fine(since time.Time, text string) {
	c.facts = append(c.facts, Fact{Text: text, Since: since})
}
