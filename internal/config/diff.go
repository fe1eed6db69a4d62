package config

import (
	"slices"
)

// Changes is what a reload has to do to get from one configuration to the next. VIPs are the same when their names are.
type Changes struct {
	Added   []VIP
	Removed []VIP
	Changed []vipChange
	// Live lists the keys of the process whose new values a running one takes over.
	Live []string
	// Restart lists the keys whose new values only a new process uses; the old values stay in force until then.
	Restart []string
}

// vipChange is one VIP that exists before and after, as New.
type vipChange struct {
	New  VIP
	Keys []string // of what differs: "vips[].priority"
	// Recreate tells that the VIP's elector cannot take the change over while it runs: interface, VRID, version, family, ...
	Recreate bool
}

// Diff compares two validated configurations, in the order of the table and of the new file.
func Diff(before, after *Config) Changes {
	var d Changes
	for _, o := range table {
		switch {
		case o.perVIP() || !o.differs(target{config: before}, target{config: after}):
		case o.waits(before):
			d.Restart = append(d.Restart, o.Key)
		default:
			d.Live = append(d.Live, o.Key)
		}
	}
	for _, v := range after.VIPs {
		old, existed := before.VIP(v.Name)
		if !existed {
			d.Added = append(d.Added, v)
			continue
		}
		if c := diffVIP(old, v); len(c.Keys) > 0 {
			d.Changed = append(d.Changed, c)
		}
	}
	for _, v := range before.VIPs {
		if _, remains := after.VIP(v.Name); !remains {
			d.Removed = append(d.Removed, v)
		}
	}
	return d
}

// waits tells whether a process that runs with before cannot take a new value over. An option of the process is never re-created.
func (o Option) waits(before *Config) bool {
	return !o.perVIP() && (o.Reload == restart || o.Reload == member && len(before.ByRaft()) > 0)
}

// Running is what a process that runs with before makes of next: next, but for the values that only a new process uses. These stay what
// they are for everything in this one, and Diff goes on to name them.
func Running(before, next *Config) *Config {
	out := *next
	for _, o := range table {
		if o.waits(before) {
			o.copy(target{config: &out}, target{config: before})
		}
	}
	return &out
}

func diffVIP(before, after VIP) vipChange {
	c := vipChange{New: after}
	for _, o := range table {
		if o.perVIP() && o.differs(target{vip: &before}, target{vip: &after}) {
			c.Keys = append(c.Keys, o.Key)
			c.Recreate = c.Recreate || o.Reload == recreate
		}
	}
	if before.VRRP.Password != after.VRRP.Password && before.VRRP.PasswordFile == after.VRRP.PasswordFile {
		c.Keys = append(c.Keys, "vips[].vrrp.passwordFile") // another text in the same file
	}
	for _, l := range lists {
		if l.differs(&before, &after) {
			c.Keys = append(c.Keys, vipsKey+"[]."+l.key)
		}
	}
	if after.Local() && (before.Check.WhenAllUnhealthy != after.Check.WhenAllUnhealthy || before.Spread.Via != after.Spread.Via) {
		c.Recreate = true // the nodes begin to talk to each other, or cease to
	}
	// A socket has one family, and each interface a service of its own.
	if before.First().Is4() != after.First().Is4() || len(before.Addresses) == 0 != (len(after.Addresses) == 0) || !slices.EqualFunc(before.Links(), after.Links(), sameInterface) {
		c.Recreate = true
	}
	return c
}

func (o Option) differs(before, after target) bool {
	a, b := o.format(before), o.format(after)
	if o.set {
		slices.Sort(a)
		slices.Sort(b)
	}
	return !slices.Equal(a, b)
}

// VIP finds a virtual address by its name.
func (c *Config) VIP(name string) (VIP, bool) {
	i := slices.IndexFunc(c.VIPs, func(v VIP) bool { return v.Name == name })
	if i < 0 {
		return VIP{}, false
	}
	return c.VIPs[i], true
}
