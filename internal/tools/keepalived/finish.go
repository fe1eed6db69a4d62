package keepalived

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// finish fills in what was left out, once all of the text is read: global_defs may stand behind what it counts for.
func (r *reader) finish() {
	g := &r.global
	g.Garp = g.garp.resolved(g.minGarp)
	g.Mail.Alert = or(g.alertVRRP, or(g.alert, false))
	g.NotifyFIFO.Script, g.VRRPFIFO.Script = g.fifoScript[0], g.fifoScript[1]
	r.config.Global = g.Global
	for i := range r.config.Addresses {
		r.config.Addresses[i].Interface = cmp.Or(r.config.Addresses[i].Interface, g.DefaultInterface)
	}
	r.join()
	for _, d := range r.instances {
		rules{&r.findings, d, &r.config.Global, r.groups}.apply()
		r.config.Instances = append(r.config.Instances, &d.Instance)
	}
	for _, group := range r.groups {
		group.MailAlert, group.PriorityChanges = or(group.alert, g.Mail.Alert), or(group.changes, g.PriorityChanges)
	}
	untrack(&r.findings, r.config)
}

// rules are those between the keywords of one instance.
type rules struct {
	*findings
	d      *draft
	global *Global
	groups []*groupDraft
}

// apply carries them out in keepalived's order.
func (k rules) apply() {
	d, g := k.d, k.global
	k.identify()
	d.Strict = or(d.strict, g.Strict)
	d.Garp, d.DownTimer = d.garp.over(g.Garp), or(d.downTimer, g.DownTimerAdverts)
	d.LowerNoAdvert, d.HigherSend = or(d.lowerNoAdvert, g.LowerPrioNoAdvert), or(d.higherSend, g.HigherPrioSendAdvert)
	d.SkipCheckAdv = d.SkipCheckAdv || g.SkipCheckAdvAddr
	d.CheckSource = d.checkSource || g.CheckUnicastSrc
	d.MailAlert, d.PriorityChanges = or(d.alert, g.Mail.Alert), or(d.changes, g.PriorityChanges)
	if d.Group.IsValid() {
	} else if d.Group = g.Group4; d.IPv6 {
		d.Group = g.Group6
	}
	k.version()
	k.authenticate()
	k.priority()
	d.Accept = or(d.accept, true)
	if d.Strict {
		k.strict()
	}
	k.empty()
	k.preempt()
	k.advertise()
	k.destinations()
	for _, list := range [][]Address{d.Addresses, d.Excluded} {
		for i := range list {
			list[i].Interface = cmp.Or(list[i].Interface, d.Interface)
		}
	}
}

// identify looks for what an instance cannot be without.
func (k rules) identify() {
	d := k.d
	if d.Interface == "" {
		k.fault(CodeMissing, d.At, fmt.Sprintf("vrrp_instance %s has no interface: keepalived does not start", d.Name), "add interface NAME")
	}
	if d.VRID == 0 {
		k.fault(CodeMissing, d.At, fmt.Sprintf("vrrp_instance %s has no virtual_router_id: keepalived does not start", d.Name), "add virtual_router_id, 1 to 255, the same on all nodes")
	}
}

// empty looks at an instance without an address to advertise, which keepalived runs by version 2 and IPv4 alone.
func (k rules) empty() {
	d := k.d
	switch {
	case len(d.Addresses) > 0:
	case d.Version == 3 || d.IPv6 || d.Strict:
		k.fault(CodeMissing, d.At, fmt.Sprintf("vrrp_instance %s has no virtual_ipaddress, which version 3, IPv6 and strict mode want: keepalived does not start", d.Name),
			"add the block with an address, or use version 2")
	case len(d.Excluded) > 0:
		k.found(Note, CodeEmpty, d.At, fmt.Sprintf("vrrp_instance %s has no virtual_ipaddress: its advertisements name none, and the addresses in virtual_ipaddress_excluded move", d.Name), "")
	case k.told():
		k.found(Note, CodeEmpty, d.At, fmt.Sprintf("vrrp_instance %s has no virtual_ipaddress: it is elected, and notify scripts move what there is to move", d.Name), "")
	default:
		k.found(Warning, CodeEmpty, d.At, fmt.Sprintf("vrrp_instance %s has no virtual_ipaddress and no notify: it is elected, and nothing follows from that", d.Name), "add the block with an address")
	}
}

// told says whether anybody is told of the instance.
func (k rules) told() bool {
	told := k.d.Notify != (Notify{}) || k.global.NotifyFIFO.Path != "" || k.global.VRRPFIFO.Path != ""
	return told || slices.ContainsFunc(k.groups, func(g *groupDraft) bool { return g.Name == k.d.SyncGroup && g.Notify != (Notify{}) })
}

func (k rules) version() {
	d := k.d
	switch {
	case d.version == 2 && d.IPv6 && d.Strict:
		k.fault(codeFamily, d.Where("version"), "version 2 with IPv6: keepalived takes version 3 in strict mode", "remove the line version 2")
		d.Version = 3
	case d.version != 0:
		d.Version = d.version
	case d.IPv6:
		d.Version = 3
	default:
		d.Version = k.global.Version
	}
	if d.IPv6 && d.Version == 2 {
		k.fault(codeFamily, d.Where("version"), "IPv6 with version 2, which has none: only a keepalived that is told the same understands it", "remove the line version 2")
	}
}

func (k rules) authenticate() {
	d := k.d
	switch a := &d.Auth; {
	case a.Type != AuthNone && len(a.Pass) == 0:
		k.slip(CodeMissing, d.Where("authentication"), "authentication without a password: keepalived uses none", "add auth_pass, or remove the block")
		*a = auth{}
	case a.Type == AuthNone && d.Has("authentication") && len(a.Pass) > 0:
		k.slip(CodeMissing, d.Where("authentication"), "authentication without auth_type: keepalived uses none", "add auth_type PASS")
		*a = auth{}
	case a.Type != AuthNone && d.Version == 3:
		k.fault(codeConflict, d.Where("authentication"), "VRRP version 3 has no authentication: keepalived uses none", "remove the block, or use version 2 on all nodes")
		*a = auth{}
	case a.Type == AuthNone:
		*a = auth{}
	}
}

func (k rules) priority() {
	d := k.d
	d.Priority = 100
	if d.StartAsMaster {
		d.Priority = 255
	}
	d.Priority = or(d.priority, d.Priority)
	switch {
	case d.Priority == 255 && !d.Has("state"):
		d.StartAsMaster = true
	case d.Priority != 255 && d.StartAsMaster && d.Auth.Type == AuthAH:
		k.fault(codeConflict, d.Where("state"), "state MASTER with auth_type AH: keepalived takes BACKUP", "write state BACKUP")
		d.StartAsMaster = false
	}
}

// strict is what strict_mode and vrrp_strict change.
func (k rules) strict() {
	d := k.d
	clash := func(keyword, what string) {
		at := k.global.Where("vrrp_strict")
		for _, k := range []string{"strict_mode", keyword} {
			if d.Has(k) {
				at = d.Where(k)
			}
		}
		k.fault(codeConflict, at, "strict mode: "+what, "remove strict_mode and vrrp_strict, unless you need RFC 3768 to the letter")
	}
	if d.StartAsMaster != (d.Priority == 255) && d.Has("state") {
		clash("state", "state MASTER and priority 255 go together, and not one without the other")
		d.StartAsMaster = d.Priority == 255
	}
	if d.Auth.Type != AuthNone {
		clash("authentication", "keepalived uses no authentication")
		d.Auth = auth{}
	}
	if d.DownTimer != 3 {
		clash("down_timer_adverts", "keepalived takes 3 for down_timer_adverts")
		d.DownTimer = 3
	}
	if d.accept != nil && *d.accept && d.Version == 2 {
		clash("accept", "version 2 has no accept mode")
		d.accept = nil
	}
	d.Accept = or(d.accept, d.Priority == 255)
	if d.PreemptDelay != 0 {
		clash("preempt_delay", "keepalived takes no preempt_delay")
		d.PreemptDelay = 0
	}
	if d.IPv6 && len(d.Addresses) > 0 && !d.Addresses[0].Prefix.Addr().IsLinkLocalUnicast() {
		clash("virtual_ipaddress", "the first IPv6 address must be link-local")
	}
	d.strictAnswers(clash)
}

// strictAnswers: in strict mode nothing follows an advertisement of another master.
func (d *draft) strictAnswers(clash func(keyword, what string)) {
	if or(d.garp.lowerDelay, 0) != 0 || or(d.garp.lowerRepeat, 0) != 0 {
		clash("garp_lower_prio_repeat", "keepalived does not announce after an advertisement of lower priority")
	}
	if !or(d.lowerNoAdvert, true) {
		clash("lower_prio_no_advert", "keepalived does not answer an advertisement of lower priority")
	}
	if d.HigherSend {
		clash("higher_prio_send_advert", "keepalived does not answer an advertisement of higher priority")
	}
	d.Garp.LowerPrioDelay, d.Garp.LowerPrioRepeat = 0, 0
	d.LowerNoAdvert, d.HigherSend = true, false
}

// preempt looks at nopreempt and preempt_delay.
func (k rules) preempt() {
	d := k.d
	switch {
	case d.Preempt:
	case d.Priority == 255:
		k.fault(codeConflict, d.Where("nopreempt"), "nopreempt with priority 255: keepalived preempts", "write a priority below 255")
		d.Preempt = true
	case d.StartAsMaster:
		k.fault(codeConflict, d.Where("nopreempt"), "nopreempt with state MASTER: keepalived preempts", "write state BACKUP on all nodes")
		d.Preempt = true
	}
	if d.PreemptDelay == 0 || d.Preempt && !d.StartAsMaster {
		return
	}
	with := "nopreempt"
	if d.Preempt {
		with = "state MASTER, or priority 255 without a state"
	}
	k.fault(codeConflict, d.Where("preempt_delay"), "preempt_delay with "+with+": keepalived takes no delay", "remove one of them")
	d.PreemptDelay = 0
}

func (k rules) advertise() {
	d := k.d
	given := or(d.interval, time.Second)
	d.AdvertInterval = rounded(given, d.Version)
	if d.AdvertInterval == given {
		return
	}
	remedy := "write whole seconds, the same on all nodes, or use version 3 on all nodes"
	if d.Version == 3 {
		remedy = "write hundredths of a second, 40.95 at most"
	}
	k.fault("advert-int-rounded", d.Where("advert_int"), fmt.Sprintf("advert_int %v is no interval of VRRP version %d: keepalived takes %v", given, d.Version, d.AdvertInterval), remedy)
}

// destinations looks at unicast against multicast.
func (k rules) destinations() {
	d := k.d
	if len(d.Unicast) > 0 {
		return
	}
	if d.Has("unicast_ttl") {
		k.fault(codeConflict, d.Where("unicast_ttl"), "unicast_ttl without peers: keepalived ignores it", "add unicast_peer, or remove the line")
		d.UnicastTTL = 255
	}
	if n := d.unicastWord; n != nil && d.FaultNoPeer {
		k.fault("unicast-no-peer", n.At, n.Words[0]+" without peers and with unicast_fault_no_peer: the instance is in state FAULT", "add unicast_peer with the other nodes")
	} else if n != nil {
		k.fault("unicast-no-peer", n.At, n.Words[0]+" without peers: keepalived advertises by multicast", "add unicast_peer with the other nodes, or remove the line")
	}
	d.CheckSource = d.CheckSource && slices.Contains([]bool{d.checkSource, k.global.CheckUnicastSrc}, true)
}
