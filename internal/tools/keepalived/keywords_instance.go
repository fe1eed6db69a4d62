package keepalived

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// draft is an instance before what is left out is filled in.
type draft struct {
	Instance
	family        string // the first address, which decides the family; empty: none yet
	priority      *int
	version       int // 0: none given
	interval      *time.Duration
	garp          garpDraft
	downTimer     *int
	lowerNoAdvert *bool
	higherSend    *bool
	strict        *bool
	accept        *bool
	checkSource   bool
	alert         *bool
	changes       *bool
	unicastWord   *syntax.Node // the first keyword that only unicast needs
}

type instanceKeyword = keyword[draft]

func (r *reader) readInstance(n statement) {
	if len(n.Words) != 2 {
		n.fault(CodeMissing, n.At, "vrrp_instance wants one name: keepalived drops the whole block", "write one name, in quotes if it has spaces")
		return
	}
	if other, ok := r.named[n.Words[1]]; ok {
		n.fault(CodeDuplicate, n.At, fmt.Sprintf("the vrrp_instance %s is there already (%v): keepalived drops this one", other.Name, other.At), "give it another name")
		return
	}
	d := &draft{Instance: Instance{Block: newBlock(n), Preempt: true, UnicastTTL: 255}}
	readBlock("vrrp_instance", r.instance, d, &d.Block, n)
	r.instances, r.named[d.Name] = append(r.instances, d), d
}

func instanceKeywords(r *reader) map[string]instanceKeyword {
	table := map[string]instanceKeyword{
		"state": {words: 2, read: readState},
		"interface": {words: 2, read: func(d *draft, n statement) {
			if len(n.Words[1]) > 15 {
				n.fault(CodeValue, n.At, fmt.Sprintf("the interface %q has more than 15 characters: keepalived ignores the line", n.Words[1]), "write the interface's name")
				return
			}
			if n.Words[1] == "lo" {
				n.fault(CodeValue, n.At, "interface lo: VRRP does not run on the loopback interface, and keepalived ignores the line",
					"write the interface where the other nodes are heard; an address on lo has dev lo behind it in virtual_ipaddress")
				return
			}
			d.Interface = n.Words[1]
		}},
		"virtual_router_id":       {words: 2, read: readVRID},
		"priority":                {words: 2, read: readPriority},
		"advert_int":              {words: 2, read: readInterval},
		"version":                 {words: 2, read: readVersion},
		"authentication":          {block: true, read: readAuthentication},
		"nopreempt":               {read: func(d *draft, n statement) { d.Preempt = !n.alone() }},
		"preempt":                 {read: func(d *draft, n statement) { d.Preempt = n.alone() }},
		"preempt_delay":           withTime(0, 1000*time.Second, "takes none", func(d *draft, v time.Duration) { d.PreemptDelay = v }),
		"down_timer_adverts":      withNumber(1, 100, "ignores the line", func(d *draft, v int) { d.downTimer = &v }),
		"lower_prio_no_advert":    {read: func(d *draft, n statement) { n.optional(&d.lowerNoAdvert) }},
		"higher_prio_send_advert": {read: func(d *draft, n statement) { n.optional(&d.higherSend) }},
		"skip_check_adv_addr":     {read: func(d *draft, n statement) { d.SkipCheckAdv = n.alone() }},
		"strict_mode":             {read: func(d *draft, n statement) { n.optional(&d.strict) }},
		"accept":                  {read: func(d *draft, n statement) { v := n.alone(); d.accept = &v }},
		"no_accept":               {note: "keepvip's addresses are for services, and take packets", code: CodeUnsupported, read: func(d *draft, _ statement) { v := false; d.accept = &v }},
		"dont_track_primary":      {read: func(d *draft, n statement) { d.DontTrack = n.alone() }},
		"track_src_ip":            {read: func(d *draft, n statement) { d.TrackSource = n.alone() }},
		"promote_secondaries":     {read: func(d *draft, _ statement) { d.PromoteSecond = true }},
		"smtp_alert":              {read: func(d *draft, n statement) { n.optional(&d.alert) }},
		"notify_priority_changes": {read: func(d *draft, n statement) { n.optional(&d.changes) }},
		"use_vmac":                {read: readVMAC},
		"vmac_xmit_base":          {read: func(d *draft, n statement) { d.TransmitBase = n.alone() }},
		"virtual_ipaddress":       {block: true, list: true, read: func(d *draft, n statement) { d.Addresses = append(d.Addresses, readVirtual(d, n)...) }},
		"virtual_ipaddress_excluded": {block: true, list: true, read: func(d *draft, n statement) {
			d.Excluded = append(d.Excluded, readAddresses(n)...)
		}},
		"virtual_routes": {block: true, list: true, note: noteRoutes, code: CodeUnsupported, read: func(d *draft, n statement) { d.Routes = append(d.Routes, lines(n)...) }},
		"virtual_rules":  {block: true, list: true, note: noteRoutes, code: CodeUnsupported, read: func(d *draft, n statement) { d.Rules = append(d.Rules, lines(n)...) }},
		"track_bfd":      {block: true, list: true, note: noteBFD, code: CodeUnsupported},
	}
	garpKeywords(table, "garp_", func(d *draft) *garpDraft { return &d.garp })
	unicastKeywords(table)
	trackKeywords(table, r, func(d *draft) *Tracking { return &d.Track })
	notifyKeywords(table, func(d *draft) *Notify { return &d.Notify })
	for text, words := range map[note]string{
		{noteVMAC, CodeUnsupported}:    "use_vmac_addr use_ipvlan vrf",
		{noteRefresh, CodeUnsupported}: "garp_extra_if vmac_garp_intvl",
		{noteLVS, codeNotVRRP}:         "lvs_sync_daemon_interface",
		{noteBuffers, CodeIgnored}:     "kernel_rx_buf_size debug",
		{"keepvip sees the state of links by netlink, and does not poll", CodeUnsupported}: "linkbeat_use_polling",
	} {
		for word := range strings.FieldsSeq(words) {
			table[word] = instanceKeyword{note: text.text, code: text.code}
		}
	}
	table["native_ipv6"] = instanceKeyword{read: func(d *draft, _ statement) { d.decide(netip.IPv6Unspecified(), "native_ipv6") }}
	return table
}

// readVMAC reads use_vmac [NAME] [MAC].
func readVMAC(d *draft, n statement) {
	const longest = 15 // IFNAMSIZ, less its NUL
	d.VMAC, d.VMACName, d.VMACAddress = true, "", ""
	for _, word := range n.Words[1:] {
		switch {
		case strings.Count(word, ":") >= 4:
			d.VMACAddress = word
		case len(word) > longest || strings.ContainsAny(word, "/: "):
			n.slip(CodeValue, n.At, fmt.Sprintf("use_vmac %q: no interface can be called so, with more than %d characters or a slash or colon: keepalived ignores the name", word, longest), "correct it")
		case d.VMACName == "":
			d.VMACName = word
		}
	}
}

func readState(d *draft, n statement) {
	switch n.Words[1] {
	case "MASTER":
		d.StartAsMaster = true
	case "BACKUP":
		d.StartAsMaster = false
	default:
		n.slip(CodeValue, n.At, fmt.Sprintf("state %q, want MASTER or BACKUP in capitals: keepalived takes BACKUP", n.Words[1]), "write state BACKUP: the priority decides").Harmless = !strings.EqualFold(n.Words[1], "MASTER")
	}
	n.extra(2)
}

func readVRID(d *draft, n statement) {
	if v, ok := n.number(1, 255, "does not start without one"); ok {
		d.VRID = v
	}
	n.extra(2)
}

func readPriority(d *draft, n statement) {
	v, ok := n.number(1, 255, "takes 100")
	if !ok {
		v = 100
		n.last().Taken, n.last().Harmless = true, leading(n.Words[1]) == 100
	}
	d.priority = &v
	n.extra(2)
}

func readInterval(d *draft, n statement) {
	if v, ok := n.duration(10*time.Millisecond, 255*time.Second, "ignores the line"); ok {
		d.interval = &v
	} else {
		n.last().Taken = true
	}
	n.extra(2)
}

func readVersion(d *draft, n statement) {
	v, ok := n.number(2, 3, "ignores the line")
	switch {
	case !ok:
	case v == 2 && d.IPv6 && d.version == 0:
		n.fault(codeFamily, n.At, "version 2 behind an IPv6 address: keepalived ignores the line", "remove it: IPv6 has version 3 only")
	default:
		d.version = v
	}
	n.extra(2)
}

func readAuthentication(d *draft, n statement) {
	readBlock("authentication", map[string]instanceKeyword{
		"auth_type": {words: 2, read: func(d *draft, n statement) {
			switch t := AuthType(n.Words[1]); t {
			case AuthPass:
				d.Auth.Type = t
			case AuthAH:
				d.Auth.Type = t
				n.found(Note, CodeUnsupported, n.At, "auth_type AH: keepvip has no IPsec header", "use a key of keepvip's own, or auth_type PASS on all nodes")
			default:
				n.slip(CodeValue, n.At, fmt.Sprintf("auth_type %q, want PASS or AH in capitals: keepalived uses no authentication", n.Words[1]), "write it in capitals")
			}
			n.extra(2)
		}},
		"auth_pass": {words: 2, read: func(d *draft, n statement) {
			d.Auth.Pass = []byte(n.Words[1])
			if len(d.Auth.Pass) > 8 {
				d.Auth.Pass = d.Auth.Pass[:8]
				n.fault("auth-pass-cut", n.At, fmt.Sprintf("auth_pass has %d bytes and only the first 8 count: others that begin with the same 8 are the same password", len(n.Words[1])),
					"write 8 bytes or less, the same on all nodes")
			}
			if len(n.Words) > 2 { // no word of a password is told
				n.found(Warning, codeExtra, n.At, "auth_pass: keepalived does not read what is behind the first word", "put the whole password between double quotes")
			}
		}},
	}, d, &d.Block, n)
}

// decide makes the first address of an instance the one that decides its family, and says whether a is of that family.
func (d *draft) decide(a netip.Addr, text string) bool {
	if d.family == "" {
		d.family, d.IPv6 = text, a.Is6()
	}
	return d.IPv6 == a.Is6()
}

// suits is decide that complains about an address of the other family than the first.
func (d *draft) suits(found *findings, at syntax.Origin, a netip.Addr, text string) bool {
	if d.decide(a, text) {
		return true
	}
	remedy := "write it in an instance of its own"
	found.fault(codeFamily, at, fmt.Sprintf("%s is of another family than %s, which came first: keepalived drops it", text, d.family), remedy)
	return false
}
