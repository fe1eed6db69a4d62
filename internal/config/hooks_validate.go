package config

import (
	"fmt"
	"path/filepath"
)

// hooks validates the hooks of one VIP.
func (k vipValidator) hooks() {
	if len(k.v.Hooks) > maxHooks {
		k.fail(hooksKey, "%d hooks, want at most %d", len(k.v.Hooks), maxHooks)
	}
	for i := range k.v.Hooks {
		h := &k.v.Hooks[i]
		fail := k.failHook(i)
		switch given := k.Origin(hookKey(k.i, i, "command")).Source != Default; {
		case !given:
			fail("command", "missing, want a list that begins with an absolute path")
		case len(h.Command) == 0 || !filepath.IsAbs(h.Command[0]):
			fail("command", "%s, want a list that begins with an absolute path", showWords(h.Command))
		}
		if h.User == "" {
			fail("user", "missing, want who the program runs as, such as nobody, or root where it has to be")
		}
		if k.Origin(hookKey(k.i, i, "states")).Source != Default && len(h.States) == 0 {
			fail("states", "an empty list, want at least one state, or the key removed for all of them")
		}
		if h.Type == HookGroup && k.v.Group == "" {
			fail("type", "%s, but the entry is in no group, want %s", HookGroup, HookInstance)
		}
	}
}

func hookKey(vip, hook int, key string) string {
	return fmt.Sprintf("%s[%d].%s[%d].%s", vipsKey, vip, hooksKey, hook, key)
}

// failHook complains about a key of one hook.
func (k vipValidator) failHook(hook int) func(key, format string, args ...any) {
	return func(key, format string, args ...any) {
		k.fail(fmt.Sprintf("%s[%d].%s", hooksKey, hook, key), format, args...)
	}
}

// validateGroupNames refuses two names for one group, and a FIFO's user without a FIFO.
func (k *validator) validateGroupNames() {
	first := map[string]int{}
	for i, v := range k.VIPs {
		if v.KeepalivedGroupName == "" {
			continue
		}
		if v.Group == "" {
			k.vip(i).fail("keepalivedGroupName", "%s, but the entry is in no group, want group, too, or no keepalivedGroupName", v.KeepalivedGroupName)
			continue
		}
		if j, known := first[v.Group]; known && k.VIPs[j].KeepalivedGroupName != v.KeepalivedGroupName {
			k.vip(i).fail("keepalivedGroupName", "%s, but %s[%d] calls the group %s, want one name", v.KeepalivedGroupName, vipsKey, j, k.VIPs[j].KeepalivedGroupName)
			continue
		}
		first[v.Group] = i
	}
	if k.FIFO.User != "" && k.FIFO.Path == "" {
		k.bad("notifyFIFO.user", "set without notifyFIFO.path, want both")
	}
}
