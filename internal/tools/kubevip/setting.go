package kubevip

import (
	"slices"
	"strconv"
	"strings"
)

// rank is where a setting was written; a later one wins.
type rank uint8

const (
	inFile rank = iota
	inArgs
	inEnv
)

// setting is one setting as the file has it.
type setting struct {
	row    *row   // nil: kube-vip knows none of that name
	name   string // as written: "vip_arp", "--arp", "enableARP"
	value  string
	hidden string // what is there in place of a value, as "by valueFrom"; "": nothing
	line   int
	rank   rank
}

// what is the setting in a finding.
func (s setting) what() string {
	if s.hidden != "" {
		return show(s.name) + " " + s.hidden
	}
	if secret(s.name) {
		return show(s.name)
	}
	return show(s.name) + " " + show(s.value)
}

// secret tells that a value is not to be repeated.
func secret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"pass", "token", "secret", "bgppeers", "bgp_peers", "apikey"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// given tells that kube-vip takes notice of it.
func (s setting) given() bool { return s.value != "" || s.hidden != "" }

// settings are all of one kube-vip, in the order of the file.
type settings []setting

// get is the one in force of the variable's name. Of variables of one name the last is the one that there is, also when it is empty.
func (all settings) get(env string) (setting, bool) {
	var last [inEnv + 1]setting
	for _, s := range all {
		if s.row != nil && s.row.env == env {
			last[s.rank] = s
		}
	}
	for _, s := range slices.Backward(last[:]) {
		if s.given() {
			return s, true
		}
	}
	return setting{}, false
}

// on tells that a switch is on. One that is neither on nor off is refused elsewhere.
func (all settings) on(env string) bool {
	s, ok := all.get(env)
	on, err := strconv.ParseBool(s.value)
	return ok && err == nil && on
}

// overridden tells whether a setting is given, and another of its name counts.
func (all settings) overridden(s setting) bool {
	if !s.given() {
		return false
	}
	at, _ := all.get(s.row.env)
	return at != s
}
