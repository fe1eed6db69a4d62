package keepalived

import (
	"time"
)

// garpDraft is what a block says of announcements; nil is nothing.
type garpDraft struct {
	delay, repeat, refresh, refreshRepeat, lowerDelay, lowerRepeat *int
}

// garpKeywords adds the six keywords to the table of a block.
func garpKeywords[T any](table map[string]keyword[T], prefix string, of func(*T) *garpDraft) {
	add := func(word string, read func(statement) (int, bool), to func(*garpDraft) **int) {
		table[prefix+word] = keyword[T]{words: 2, read: func(into *T, n statement) {
			if v, ok := read(n); ok {
				*to(of(into)) = &v
			}
		}}
	}
	within := func(most int64) func(statement) (int, bool) {
		return func(n statement) (int, bool) { return n.number(0, most, "ignores the line") }
	}
	positive := func(n statement) (int, bool) { return n.atLeastOne(1<<32 - 1) }
	const longest = 4294 // seconds, of a timer
	add("master_delay", within(longest), func(g *garpDraft) **int { return &g.delay })
	add("master_repeat", positive, func(g *garpDraft) **int { return &g.repeat })
	add("master_refresh", within(1<<32-1), func(g *garpDraft) **int { return &g.refresh })
	add("master_refresh_repeat", positive, func(g *garpDraft) **int { return &g.refreshRepeat })
	add("lower_prio_delay", within(longest), func(g *garpDraft) **int { return &g.lowerDelay })
	add("lower_prio_repeat", within(1<<32-1), func(g *garpDraft) **int { return &g.lowerRepeat })
}

// resolved is the global values with keepalived's defaults; least is vrrp_min_garp, which only changes the defaults.
func (g garpDraft) resolved(least bool) garp {
	delay, repeat, refreshRepeat := 5, 5, 1
	if least {
		delay, repeat, refreshRepeat = 0, 1, 0
	}
	out := garp{
		Delay: inSeconds(g.delay, delay), Repeat: or(g.repeat, repeat),
		Refresh: inSeconds(g.refresh, 0), RefreshRepeat: or(g.refreshRepeat, refreshRepeat),
	}
	out.LowerPrioDelay = inSeconds(g.lowerDelay, int(out.Delay/time.Second))
	out.LowerPrioRepeat = or(g.lowerRepeat, out.Repeat)
	return out
}

// over is what an instance says, over the global values. A lower_prio value that is left out is the global one, and not the instance's master value.
func (g garpDraft) over(global garp) garp {
	return garp{
		Delay: inSeconds(g.delay, int(global.Delay/time.Second)), Repeat: or(g.repeat, global.Repeat),
		Refresh: inSeconds(g.refresh, int(global.Refresh/time.Second)), RefreshRepeat: or(g.refreshRepeat, global.RefreshRepeat),
		LowerPrioDelay: inSeconds(g.lowerDelay, int(global.LowerPrioDelay/time.Second)), LowerPrioRepeat: or(g.lowerRepeat, global.LowerPrioRepeat),
	}
}

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

func inSeconds(v *int, otherwise int) time.Duration {
	return time.Duration(or(v, otherwise)) * time.Second
}
