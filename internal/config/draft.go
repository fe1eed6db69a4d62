package config

import "strings"

// Draft is a configuration that no file of keepvip has, such as that of a keepalived.conf: options with their values and places, without any
// text in between. The zero value is empty. What does not fit the table of options, [Load] says.
type Draft struct {
	document
	problems
	top *section
}

// Entry begins the next entry of a list: "vips", or in the last entry of that "vips[].checks", "vips[].hooks", "vips[].spread.ports" or
// "vips[].spread.backends".
func (d *Draft) Entry(list string, at Origin) {
	s := d.lookup(list)
	if s == nil || !s.list {
		d.add(at, list, "unknown list")
		return
	}
	d.enter(s, at)
}

// Set gives an option, in the last entries of the lists that its key names, such as "vips[].checks[].kind". Where one value may stand for a
// mapping, as in "vips[].check", the mapping's key takes it.
func (d *Draft) Set(key string, at Origin, values ...string) {
	o := d.option(key)
	if o == nil {
		d.add(at, key, "unknown key")
		return
	}
	d.settings = append(d.settings, setting{option: o, vip: d.vip, index: d.index, raw: values, origin: at})
}

// Add adds a value to the list that was given last. The first value makes the list, and gives it the place that Add returns.
func (d *Draft) Add(key string, at Origin, value string) (list Origin) {
	if n := len(d.settings); n > 0 {
		if last := &d.settings[n-1]; last.option == d.option(key) && last.vip == d.vip && last.index == d.index {
			last.raw = append(last.raw, value)
			return last.origin
		}
	}
	d.Set(key, at, value)
	return at
}

func (d *Draft) option(key string) *Option {
	switch s := d.lookup(key); {
	case s == nil:
		return nil
	case s.option == nil:
		return s.short
	default:
		return s.option
	}
}

func (d *Draft) lookup(key string) *section {
	if d.top == nil {
		d.top = sections()
	}
	at := d.top
	for name := range strings.SplitSeq(key, ".") {
		if at = at.lookup(strings.TrimSuffix(name, "[]")); at == nil {
			return nil
		}
	}
	return at
}
