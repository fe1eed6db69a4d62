package config

import (
	"net/netip"
	"slices"
	"time"
)

const (
	vipsKey   = "vips"
	envPrefix = "KEEPVIP_"

	maxPath   = 4095
	maxSocket = 107 // sun_path of unix(7), less its NUL

	mostAnnouncements = 100 // of one burst
)

// table is every option there is, never changed. Nothing else in the project names a key, a flag or a default.
var table = slices.Concat(vipOptions(), virtualMACOptions(), hooksOnlyOptions(), routeOptions(), externalOptions(), conflictOptions(), dhcpOptions(), checkOptions(), spreadOptions(), backendCheckOptions(), processOptions(), raftOptions(), followOptions(), hostOptions(), metricsOptions(), healthOptions(), fifoOptions())

// keepalivedName is a name that programs know from a keepalived.conf.
func keepalivedName() kind[string] {
	return pattern("name", `^[^\s=:,"]{1,255}$`, "at most 255 characters without blanks, quotes, =, : and commas")
}

func vipOptions() []Option {
	return []Option{
		option("vips[].name", "name", "apiserver", recreate, one(pattern("name", `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, "lower-case letters, digits and inner dashes, at most 63"), func(t target) *string { return &t.vip.Name }),
			"What status, metrics and logs call the virtual address; required when there are several; a hold and a drain belong to this name, and end with it"),
		option("vips[].keepalivedName", "keepalived-name", "", live, one(keepalivedName(), func(t target) *string { return &t.vip.KeepalivedName }),
			"What hooks, the notify FIFO and the files in keepalivedFiles call the virtual address, such as VI_1; without it its name"),
		option("vips[].addresses", "vip", "", live, many(virtualAddress(), func(t target) *[]netip.Prefix { return &t.vip.Addresses }),
			"The addresses that move together, each alone, or with the length of its subnet; an IPv4 address is bound as /32 in any case, and a subnet that no own address is in gets a route while the address is bound; the family of the first carries the election"),
		option("vips[].interface", "interface", "", recreate, one(pattern("name", interfaceName, "the name of an interface, or an altname"), func(t target) *string { return &t.vip.Interface }),
			"The network interface; without it the one whose subnet contains the first address"),
		option("vips[].elsewhere", "elsewhere", "", recreate, many(addressLink(), func(t target) *[]Elsewhere { return &t.vip.Elsewhere }),
			"Addresses that are on another interface than the one that the election runs on, each as ADDRESS=INTERFACE; while one of these interfaces is down, this node holds none of the addresses").unordered(),
		option("vips[].labels", "label", "", live, words(func(t target) *[]string { return &t.vip.Labels }),
			"What the IPv4 addresses are labelled, in their order, such as eth0:1, for programs that look for that; without it the interface's name, as Linux does"),
		option("vips[].scope", "scope", string(ScopeGlobal), live, one(enum(ScopeGlobal, ScopeSite, ScopeLink, ScopeHost), func(t target) *Scope { return &t.vip.Scope }),
			"How far the IPv4 addresses are valid; one that is narrower than global is listed before the node's own, and programs may take it for that"),
		option("vips[].group", "group", "", recreate, one(pattern("name", `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, "lower-case letters, digits and inner dashes, at most 63"), func(t target) *string { return &t.vip.Group }),
			"The virtual addresses with the same group are always on the same node, as when they have different interfaces; if one of them cannot be held there, none is"),
		option("vips[].keepalivedGroupName", "keepalived-group-name", "", live, one(keepalivedName(), func(t target) *string { return &t.vip.KeepalivedGroupName }),
			"What hooks and the notify FIFO call the group, such as VG_1; without it its name"),
		option("vips[].election", "election", string(ElectionVRRP), recreate, one(enum(Elections()...), func(t target) *Election { return &t.vip.Election }),
			"How the nodes agree on the one that holds the addresses: vrrp lives with one node; raft needs a majority of raft.peers, and has no two holders during a partition; with local nobody is elected: each fit node serves, and announces a route (docs/routes.md)"),
		option("vips[].priority", "priority", "100", live, one(number[uint8](1, 254), func(t target) *uint8 { return &t.vip.Priority }),
			"The fit node with the highest priority holds the addresses; equal on all nodes is fine (255 belongs to an address owner, RFC 9568 section 5.2.4)"),
		option("vips[].candidates", "candidate", "", live, many(address(), func(t target) *[]netip.Addr { return &t.vip.Candidates }),
			"Own addresses of the nodes that may hold the addresses, the same list on all nodes. Every other node is a member that never advertises; with spread it serves its share. Without the list every node may hold the addresses").unordered(),
		option("vips[].vrrp.id", "vrid", "", recreate, one(number[uint8](1, 255), func(t target) *uint8 { return &t.vip.VRRP.ID }),
			"The VRID; without it 1 + (the FNV-1a hash, 32 bits, of the first address's bytes) modulo 255; no other router on the link may use it"),
		option("vips[].vrrp.version", "vrrp-version", "3", recreate, one(number[uint8](2, 3), func(t target) *uint8 { return &t.vip.VRRP.Version }),
			"The VRRP version; 2 knows only IPv4 and whole seconds"),
		option("vips[].vrrp.advertisementInterval", "advertisement-interval", "100ms", live, one(duration(10*time.Millisecond, 40950*time.Millisecond, 10*time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.AdvertisementInterval }),
			"Advertisement_Interval; a dead holder is replaced after a little more than three of them"),
		option("vips[].vrrp.preempt", "preempt", "true", live, one(boolean(), func(t target) *bool { return &t.vip.VRRP.Preempt }),
			"Preempt_Mode: a fit node takes over from one with lower priority, never from an equal"),
		option("vips[].vrrp.preemptDelay", "preempt-delay", "0s", live, one(duration(0, 1000*time.Second, time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.PreemptDelay }),
			"How long a node waits before it preempts"),
		option("vips[].vrrp.downTimerAdverts", "down-timer-adverts", "3", live, one(number(1, 100), func(t target) *int { return &t.vip.VRRP.DownTimerAdverts }),
			"After how many missed advertisements a holder counts as dead; the same on all nodes"),
		option("vips[].vrrp.startupDelay", "startup-delay", "0s", live, one(duration(0, 1000*time.Second, time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.StartupDelay }),
			"How long a node that starts only listens, before the time begins after which it takes over"),
		option("vips[].vrrp.bootDelay", "boot-delay", "0s", live, one(duration(0, 1000*time.Second, time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.BootDelay }),
			"How long after the boot of the host a node that starts only listens, for a network that is late; longer than startupDelay, or without effect"),
		option("vips[].vrrp.startupInterval", "startup-interval", "0s", live, one(duration(0, 40950*time.Millisecond, 10*time.Millisecond), func(t target) *time.Duration { return &t.vip.VRRP.StartupInterval }),
			"The longest interval that another router may have when this node starts; set it while the interval is being made shorter by restarting node after node (a reload does not need it). Above ten times advertisementInterval it is also the longest one that a node believes when it hears it for the first time"),
		option("vips[].vrrp.owner", "owner", "false", live, one(boolean(), func(t target) *bool { return &t.vip.VRRP.Owner }),
			"This node is the address owner: priority 255, Active immediately when it starts, above all others; on one node at most (RFC 9568 section 8.3.2)"),
		option("vips[].vrrp.anyAddresses", "any-addresses", "false", recreate, one(boolean(), func(t target) *bool { return &t.vip.VRRP.AnyAddresses }),
			"Take every advertisement with this VRID for this cluster's, as RFC 9568 has it, also when it shares no address with the list here; without it such a one is another cluster's, and ignored"),
		option("vips[].vrrp.excluded", "excluded", "", live, many(address(), func(t target) *[]netip.Addr { return &t.vip.VRRP.Excluded }),
			"Of the addresses those that advertisements leave out, the same on all nodes; they are held like the others. For routers that demand a list, as keepalived does, and for more addresses than an advertisement has room for").unordered(),
		option("vips[].vrrp.passwordFile", "password-file", "", live, one(path(maxPath), func(t target) *string { return &t.vip.VRRP.PasswordFile }),
			"File with the password of VRRP version 2, at most 8 characters; it travels readable in every advertisement and is no security, only for routers that demand it"),
		option("vips[].vrrp.peers", "peer", "", recreate, many(address(), func(t target) *[]netip.Addr { return &t.vip.VRRP.Peers }),
			"The nodes' own addresses: advertisements go to each of them instead of the multicast group; the list may be the same on all nodes, in any order, and entries on one link may have different ones").unordered(),
		option("vips[].vrrp.minTTL", "min-ttl", "255", recreate, one(number[uint8](1, 255), func(t target) *uint8 { return &t.vip.VRRP.MinTTL }),
			"The least time to live, or hop limit, of an advertisement, and of members' messages, from vrrp.peers. Below 255 hosts beyond the link can send one, too: use a key then"),
		option("vips[].vrrp.multicastGroup", "multicast-group", "", recreate, one(multicastGroup(), func(t target) *netip.Addr { return &t.vip.VRRP.MulticastGroup }),
			"The multicast group that advertisements go to, the same on all nodes; without it 224.0.0.18 or ff02::12, as RFC 9568 has it"),
		option("vips[].vrrp.source", "source", "", recreate, one(source(), func(t target) *netip.Addr { return &t.vip.VRRP.Source }),
			"The node's own address that advertisements come from, where the interface has several; while it is not there the node is out of the election"),
		option("vips[].vrrp.checksum", "checksum", string(ChecksumPseudoHeader), recreate, one(enum(ChecksumPseudoHeader, ChecksumMessageOnly), func(t target) *Checksum { return &t.vip.VRRP.Checksum }),
			"What the checksum of a sent VRRPv3 advertisement over IPv4 covers; both forms are accepted"),
		option("vips[].vrrp.detector", "detector", string(detectorPlain), recreate, one(enum(detectorPlain, DetectorFast), func(t target) *detector { return &t.vip.VRRP.Detector }),
			"How a backup finds out that the node of the holder is dead: plain, by three missed advertisements; fast, some 40 ms after it, by beats of the holder each 30 ms, by echo requests that its kernel leaves unanswered, and by another member that finds the same. The same on all nodes (docs/detector.md)"),
		option("vips[].vrrp.detectorWitness", "detector-witness", "", recreate, one(witness(), func(t target) *Witness { return &t.vip.VRRP.DetectorWitness }),
			"With detector fast and two nodes: a host on the link that answers echo requests, or gateway for the next hop of the node's default route there, which is looked up every five seconds. It shows a backup that its own link works, and not that the holder is dead"),
		option("vips[].announce.refresh", "announce-refresh", "1m0s", live, one(duration(0, 24*time.Hour, time.Millisecond), func(t target) *time.Duration { return &t.vip.Announce.Refresh }),
			"How often the holder repeats its gratuitous ARP or neighbour advertisement after the first burst; 0s never"),
		option("vips[].announce.refreshRepeat", "announce-refresh-repeat", "1", live, one(number(1, mostAnnouncements), func(t target) *int { return &t.vip.Announce.RefreshRepeat }),
			"How many announcements the holder sends at each refresh, 20 ms apart"),
		option("vips[].announce.repeat", "announce-repeat", "6", live, one(number(1, mostAnnouncements), func(t target) *int { return &t.vip.Announce.Repeat }),
			"How many announcements the first burst has: the first immediately, the sixth after 1.5 s"),
		option("vips[].announce.delay", "announce-delay", "0s", live, one(duration(0, time.Hour, time.Millisecond), func(t target) *time.Duration { return &t.vip.Announce.Delay }),
			"How long after the first burst has begun there is a second one, for a network that learns late; 0s none"),
	}
}

func checkOptions() []Option {
	return []Option{
		option("vips[].check.url", "check", "https://127.0.0.1:6443/readyz", live, one(simpleCheck(), func(t target) *string { return &t.vip.Check.URL }),
			"What is probed: an http or https URL by GET, 200 is healthy; tcp://host:port by connecting; kubeadm, k3s, rke2 or k0s stand for the /readyz of the local apiserver, verified with that installation's CA; backends, the default where there are spread.backends, is good while one backend is; none for an address that follows no service").short(),
		option("vips[].check.ca", "check-ca", "", live, one(path(maxPath), func(t target) *string { return &t.vip.Check.CA }),
			"File with the CA certificates that the probed server is verified against; without it the certificate is not verified"),
		option("vips[].check.serverName", "check-server-name", "", live, one(pattern("name", `^[A-Za-z0-9]([-A-Za-z0-9.:]{0,251}[A-Za-z0-9])?$`, "a host name or an address"), func(t target) *string { return &t.vip.Check.ServerName }),
			"The name in the server's certificate; without it kubernetes, which every apiserver of kubeadm has"),
		option("vips[].check.interval", "check-interval", "300ms", live, one(duration(10*time.Millisecond, 10*time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.vip.Check.Interval }),
			"The time from the start of one probe to the next, give or take a tenth; probes never overlap"),
		option("vips[].check.timeout", "check-timeout", "600ms", live, one(duration(10*time.Millisecond, time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.vip.Check.Timeout }),
			"How long a probe may take in all"),
		option("vips[].check.rise", "check-rise", "2", live, one(number(1, 1000), func(t target) *int { return &t.vip.Check.Rise }),
			"Good probes in a row that make an unhealthy node healthy; right after the start one is enough"),
		option("vips[].check.fall", "check-fall", "3", live, one(number(1, 1000), func(t target) *int { return &t.vip.Check.Fall }),
			"Bad probes in a row that make a healthy node unhealthy; a refused connection needs only one"),
		option("vips[].check.whenAllUnhealthy", "when-all-unhealthy", string(Hold), live, one(enum(Hold, Release), func(t target) *WhenAllUnhealthy { return &t.vip.Check.WhenAllUnhealthy }),
			"What an unhealthy node does while no fitter one is heard: hold the addresses, or release them. With election local it is release where it is not set"),
	}
}

func processOptions() []Option {
	return []Option{
		option("key.file", "key-file", "", live, one(path(maxPath), func(t target) *string { return &t.config.Key.File }),
			"File with the shared key: 32 to 64 bytes in hex or base64, readable by its owner alone; with it every advertisement is signed, and needs a signature"),
		option("key.id", "key-id", "1", live, one(number[uint8](0, 255), func(t target) *uint8 { return &t.config.Key.ID }),
			"The number of that key in advertisements, by which receivers find it"),
		option("key.accept", "key-accept", "", live, many(keyRef(), func(t target) *[]KeyRef { return &t.config.Key.Accept }),
			"Further keys that are accepted but do not sign, each as ID=PATH: while the key is being changed"),
		option("key.mode", "key-mode", string(KeyEnforce), live, one(enum(KeyEnforce, KeyPermissive, KeyReceiveOnly), func(t target) *KeyMode { return &t.config.Key.Mode }),
			"enforce: sign, and refuse what is not signed; permissive: sign, take everything, and say what enforce would refuse; receive-only: as permissive, without signing. Only enforce protects"),
		option("key.window", "key-window", "10s", live, one(duration(time.Second, time.Hour, time.Millisecond), func(t target) *time.Duration { return &t.config.Key.Window }),
			"How far the clock of a node may be from the clock here when it is first heard, and for how long after a node's death what was captured of it may count here"),
		option("port", "port", "9646", restart, one(number[uint16](0, 65535), func(t target) *uint16 { return &t.config.Port }),
			"The UDP port on which the nodes tell each other how they are and pass the address on (docs/protocol.md), and the TCP port of their lifelines and of Raft; 0: plain VRRP alone"),
		option("lifeline", "lifeline", "true", restart, one(boolean(), func(t target) *bool { return &t.config.Lifeline }),
			"Have a TCP connection to each other member, which the kernel closes when keepvip ends, however it ends: the address is silent then, and a member takes over within milliseconds. It is of no use with raft or with port 0"),
	}
}

func hostOptions() []Option {
	return []Option{
		option("realtime", "realtime", "false", restart, one(boolean(), func(t target) *bool { return &t.config.Realtime }),
			"Schedule keepvip before everything on the node that is not real-time (SCHED_RR), so that load does not make advertisements late; needs the capability SYS_NICE, and goes on without"),
		option("socket", "socket", "/run/keepvip/keepvip.sock", restart, one(path(maxSocket), func(t target) *string { return &t.config.Socket }),
			"The unix socket through which status and the other commands reach the daemon"),
		option("stateDir", "state-dir", "/var/lib/keepvip", restart, one(absolute(maxPath, "/var/lib/keepvip"), func(t target) *string { return &t.config.StateDir }),
			"The directory for what must survive a restart"),
		option("keepalivedFiles", "keepalived-files", "", live, one(absolute(maxPath, "/tmp"), func(t target) *string { return &t.config.KeepalivedFiles }),
			"The directory for what keepalived 2.2.7 writes into /tmp on a signal, for exporters and probes that read it: keepalived.data on SIGUSR1, keepalived.stats on SIGUSR2, keepalived.json on SIGRTMIN+2 (36), and keepalived.stats with counters that then begin at 0 on SIGRTMAX-1 (63); without it these signals do nothing"),
		option("checksAsRoot", "checks-as-root", string(rootNever), live, one(enum(rootNever, rootSafe, RootAny), func(t target) *checksAsRoot { return &t.config.ChecksAsRoot }),
			"Whether checks of kind exec may have user root, as a script of keepalived's: never; safe: where nobody but root can change the program, or replace it in one of its directories; any: as keepalived without enable_script_security. "+
				"A keepalived.conf that is run as it is has safe or any, by enable_script_security; never refuses such a check"),
		option("log.level", "log-level", string(LogInfo), live, one(enum(LogDebug, LogInfo, LogWarn, LogError), func(t target) *LogLevel { return &t.config.Log.Level }),
			"The least severe log lines that are written"),
		option("log.format", "log-format", string(logText), restart, one(enum(logText, LogJSON), func(t target) *logFormat { return &t.config.Log.Format }),
			"The shape of a log line"),
	}
}
