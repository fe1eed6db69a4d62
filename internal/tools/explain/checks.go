package explain

import (
	"cmp"
	"fmt"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// checks are what the health checks say.
func (c *chain) checks() {
	for i := range c.Checks {
		k := &c.Checks[i]
		text := fmt.Sprintf("%s is %s", called(k), k.State)
		if k.Reason != "" {
			text += ": " + k.Reason
		}
		if k.Weight != 0 {
			text += fmt.Sprintf(" (weight %+d)", k.Weight)
		}
		if k.Hint != "" {
			text += "; " + k.Hint
		}
		switch k.State.String() {
		case unhealthy:
			c.say(cmp.Or(k.Code, code.CheckFailed), k.Since, text)
		case unknown:
			c.say(code.CheckUnknown, k.Since, text)
		default:
			c.fine(k.Since, text)
		}
	}
}

func called(k *instance.CheckStatus) string {
	if k.Name == "" {
		return "the health check"
	}
	return "the check " + k.Name
}
