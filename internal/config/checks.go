package config

import (
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// ListedCheck is one of several checks of a VIP. Which fields count depends on Kind.
type ListedCheck struct {
	Name       string // its kind when not given
	Kind       CheckKind
	Weight     int  // 0: a hard condition; above, added to the priority when good; below, taken off it when bad
	Reverse    bool // good where it would be bad, and bad where it would be good
	Interval   time.Duration
	Timeout    time.Duration
	Rise, Fall int
	InitFail   bool          // bad from the start, until Rise good probes
	Counts     counts        // how Rise and Fall are counted
	Watch      bool          // notice the end of an idle connection or of the process
	URL        string        // https, http
	CA         string        // https: file; "" with Insecure
	Insecure   bool          // https: the certificate is not verified
	ServerName string        // https: "" for the URL's host, or "kubernetes" where that is an address
	Further    []string      // https: where a connection has to be taken, too, as host:port; none but of a preset
	Codes      []int         // https, http: healthy statuses; none: 200, and 401 to a check without credentials
	ClientCert string        // https: file
	ClientKey  string        // https: file; "": that of ClientCert
	TokenFile  string        // https
	Address    string        // tcp: host:port
	Command    []string      // exec: absolute path, and arguments
	User       string        // exec: a user by name or id, and a group of its own behind a colon
	UID, GID   uint32        // of User, as found on this machine
	Path       string        // file
	Absent     bool          // file: healthy without it
	MaxAge     time.Duration // file: 0 for any
	Number     bool          // file: the number in it times Weight is added to the priority
	Initial    int           // file: what counts of a Number until the file is there for the first time
	Process    string        // process: the name of its program
	Quorum     int           // process: how many have to run; 0: one, whose end is seen immediately
	QuorumMax  int           // process: how many may run
	Arguments  []string      // process: the arguments of those that count; nil: any
	Match      ArgumentsMatch
	Interface  string     // interface
	Router     netip.Addr // gateway: the zero Addr for the next hop of the default route
}

// ArgumentsMatch is how the arguments of a process are compared.
type ArgumentsMatch string

// The ways.
const (
	matchExact ArgumentsMatch = "exact" // all of them
	MatchFirst ArgumentsMatch = "first" // more may follow
	MatchBegin ArgumentsMatch = "begin" // more may follow, and the last one may be longer
)

// counts is how a check counts its probes.
type counts string

// The ways of counting.
const (
	countsDamped counts = "damped"
	CountsPlain  counts = "plain"
)

// checksAsRoot says whether checks of kind exec may run as root.
type checksAsRoot string

// The ways.
const (
	rootNever checksAsRoot = "never"
	rootSafe  checksAsRoot = "safe" // where nobody else can put another program in the place of the check's
	RootAny   checksAsRoot = "any"
)

// CheckKind is what a check looks at.
type CheckKind string

// The kinds.
const (
	CheckHTTPS     CheckKind = "https"
	CheckHTTP      CheckKind = "http"
	CheckTCP       CheckKind = "tcp"
	CheckExec      CheckKind = "exec"
	CheckFile      CheckKind = "file"
	CheckProcess   CheckKind = "process"
	CheckInterface CheckKind = "interface"
	CheckGateway   CheckKind = "gateway"
	// CheckBackends is that of a node with backends, and never listed: one of them at least is healthy.
	CheckBackends CheckKind = "backends"
)

// CheckKinds are all kinds that can be listed, in the order of the reference.
func CheckKinds() []CheckKind {
	return []CheckKind{CheckHTTPS, CheckHTTP, CheckTCP, CheckExec, CheckFile, CheckProcess, CheckInterface, CheckGateway}
}

// kindKeys are the keys that each kind has beside those that all have; the first needed of them are required.
var kindKeys = map[CheckKind]struct {
	keys   []string
	needed int
}{
	CheckHTTPS:     {[]string{"url", "ca", "insecure", "serverName", "codes", "clientCert", "clientKey", "tokenFile", "watch"}, 1},
	CheckHTTP:      {[]string{"url", "codes", "watch"}, 1},
	CheckTCP:       {[]string{"address", "watch"}, 1},
	CheckExec:      {[]string{"command", "user"}, 2},
	CheckFile:      {[]string{"path", "absent", "maxAge", "number", "initial"}, 1},
	CheckProcess:   {[]string{"process", "watch", "quorum", "quorumMax", "arguments", "match"}, 1},
	CheckInterface: {[]string{"interface"}, 1},
	CheckGateway:   {[]string{"router"}, 0},
}

// commonKeys are those of every kind.
var commonKeys = []string{"kind", "name", "weight", "reverse", "interval", "timeout", "rise", "fall", "initFail", "counts"}

// has tells whether checks of the kind have a key.
func (k CheckKind) has(key string) bool {
	return slices.Contains(commonKeys, key) || slices.Contains(kindKeys[k].keys, key)
}

const (
	checksKey = "checks"
	// maxWeight is more than what moves a priority from one end of its range to the other, as keepalived has it.
	maxWeight = 254
	// maxInitial is more than any number in a file counts for.
	maxInitial = 65536
	// MostProcesses is no bound of how many processes run.
	MostProcesses = 65535
	// maxChecks bounds what one VIP can ask of a node.
	maxChecks = 100
)

// listed is every option of a check in a list. They are in the file only: a flag could not say which check it means.
var listed = listedOptions()

func listedOptions() []Option {
	at := func(key string) string { return vipsKey + "[]." + checksKey + "[]." + key }
	name := pattern("name", `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, "lower-case letters, digits and inner dashes, at most 63")
	server := pattern("name", `^[A-Za-z0-9]([-A-Za-z0-9.:]{0,251}[A-Za-z0-9])?$`, "a host name or an address")
	return []Option{
		unflagged(at("kind"), "", one(enum(CheckKinds()...), func(t target) *CheckKind { return &t.check.Kind }),
			"What the check looks at; required"),
		unflagged(at("name"), "", one(name, func(t target) *string { return &t.check.Name }),
			"What status, metrics and logs call the check; without it the kind; no two checks of a virtual address share one"),
		unflagged(at("weight"), "0", one(number(-maxWeight, maxWeight), func(t target) *int { return &t.check.Weight }),
			"0: without the check the node is not fit; above: added to the priority while the check is good; below: taken off while it is bad; the result stays within 1 to 254"),
		unflagged(at("reverse"), "false", one(boolean(), func(t target) *bool { return &t.check.Reverse }),
			"The result is turned round: good where the check would be bad, and the other way; rise and fall count the result that is turned round"),
		unflagged(at("interval"), "300ms", one(duration(10*time.Millisecond, 10*time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.check.Interval }),
			"The time from the start of one probe to the next, give or take a tenth; probes never overlap"),
		unflagged(at("timeout"), "600ms", one(duration(10*time.Millisecond, time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.check.Timeout }),
			"How long a probe may take in all"),
		unflagged(at("rise"), "2", one(number(1, 1000), func(t target) *int { return &t.check.Rise }),
			"Good probes in a row that make it good after it was bad; a check that flaps needs more"),
		unflagged(at("fall"), "3", one(number(1, 1000), func(t target) *int { return &t.check.Fall }),
			"Bad probes in a row that make it bad; what is definite needs only one"),
		unflagged(at("initFail"), "false", one(boolean(), func(t target) *bool { return &t.check.InitFail }),
			"The check is bad from the start, until rise good probes in a row; without it the first good one is enough"),
		unflagged(at("counts"), string(countsDamped), one(enum(countsDamped, CountsPlain), func(t target) *counts { return &t.check.Counts }),
			"damped: a check that flaps needs more good probes than rise, and the first bad probe after the start does not count alone; "+
				"plain: rise and fall and nothing else, and the first probe counts alone, with initFail, too, as in keepalived"),
		unflagged(at("watch"), "true", one(boolean(), func(t target) *bool { return &t.check.Watch }),
			"https, http, tcp, process: keep one idle connection, or a handle on the process, whose end asks for a probe immediately"),
		unflagged(at("url"), "", one(checkURL(), func(t target) *string { return &t.check.URL }),
			"https, http: what is asked by GET; redirects are not followed"),
		unflagged(at("ca"), "", one(path(maxPath), func(t target) *string { return &t.check.CA }),
			"https: file with the CA certificates that the server is verified against; this or insecure is required"),
		unflagged(at("insecure"), "false", one(boolean(), func(t target) *bool { return &t.check.Insecure }),
			"https: the certificate is not verified"),
		unflagged(at("serverName"), "", one(server, func(t target) *string { return &t.check.ServerName }),
			"https: the name in the server's certificate; without it the URL's host, or kubernetes where that is an address"),
		unflagged(at("codes"), "", many(number(100, 599), func(t target) *[]int { return &t.check.Codes }),
			"https, http: the healthy statuses; without it 200, and 401 where the check shows neither certificate nor token"),
		unflagged(at("clientCert"), "", one(path(maxPath), func(t target) *string { return &t.check.ClientCert }),
			"https: file with the client's certificate, read again when it changes"),
		unflagged(at("clientKey"), "", one(path(maxPath), func(t target) *string { return &t.check.ClientKey }),
			"https: file with the key of clientCert; without it in the same file"),
		unflagged(at("tokenFile"), "", one(path(maxPath), func(t target) *string { return &t.check.TokenFile }),
			"https: file with a bearer token, read again when it changes; only for a server that is verified"),
		unflagged(at("address"), "", one(endpoint(), func(t target) *string { return &t.check.Address }),
			"tcp: host and port that have to accept connections"),
		unflagged(at("command"), "", words(func(t target) *[]string { return &t.check.Command }),
			"exec: the program by its absolute path, and arguments; there is no shell; exit status 0 is good"),
		unflagged(at("user"), "", one(userName(), func(t target) *string { return &t.check.User }),
			"exec: the user that the program runs as, without capabilities: by name or id, with its own group, or another behind a colon: nobody, www-data:adm, 65534:65534; root takes checksAsRoot, and keeps keepvip's capabilities"),
		unflagged(at("path"), "", one(path(maxPath), func(t target) *string { return &t.check.Path }),
			"file: what has to be there"),
		unflagged(at("absent"), "false", one(boolean(), func(t target) *bool { return &t.check.Absent }),
			"file: good without it, as with one that an operator makes for maintenance"),
		unflagged(at("maxAge"), "0s", one(duration(0, 24*time.Hour, time.Millisecond), func(t target) *time.Duration { return &t.check.MaxAge }),
			"file: it must have been written within this time; 0s whenever"),
		unflagged(at("number"), "false", one(boolean(), func(t target) *bool { return &t.check.Number }),
			"file: the number in the file, times weight, is added to the priority, as with keepalived's track_file; -254 or less is a node that is not fit, and so is any number but 0 with weight 0; without the file the number is 0"),
		unflagged(at("initial"), "0", one(number(-maxInitial, maxInitial), func(t target) *int { return &t.check.Initial }),
			"file: with number, the number that counts until the file is there for the first time"),
		unflagged(at("process"), "", one(pattern("name", `^[^\s/:]{1,63}$`, "the name of a program, without its directory"), func(t target) *string { return &t.check.Process }),
			"process: the name of a program that has to run; a pod sees its own processes only, unless it has hostPID"),
		unflagged(at("quorum"), "0", one(number(0, MostProcesses), func(t target) *int { return &t.check.Quorum }),
			"process: how many such processes have to run; they are counted at each probe, and too few are counted by fall; 0: one, whose end is seen immediately"),
		unflagged(at("quorumMax"), strconv.Itoa(MostProcesses), one(number(0, MostProcesses), func(t target) *int { return &t.check.QuorumMax }),
			"process: how many such processes may run; 0: none"),
		unflagged(at("arguments"), "", words(func(t target) *[]string { return &t.check.Arguments }),
			"process: the arguments behind the program's name that a process must have to count; an empty list for none; without it they do not matter"),
		unflagged(at("match"), string(matchExact), one(enum(matchExact, MatchFirst, MatchBegin), func(t target) *ArgumentsMatch { return &t.check.Match }),
			"process: exact: the arguments are these; first: others may follow; begin: others may follow, and the last one may be longer"),
		unflagged(at("interface"), "", one(pattern("name", `^[^\s/:]{1,15}$`, "an interface name of at most 15 characters"), func(t target) *string { return &t.check.Interface }),
			"interface: a network interface that has to be up and to have its carrier"),
		unflagged(at("router"), "", one(source(), func(t target) *netip.Addr { return &t.check.Router }),
			"gateway: the router that has to answer ARP or neighbour discovery on the interface of the virtual address; without it the next hop of the default route there, of the family of the first address"),
	}
}
