package main

// keepalivedOption is one option of keepalived's command line, as keepalived(8) of version 2.2.7 has it.
type keepalivedOption struct {
	long, short string // without dashes
	value       string // what it takes; "" nothing; in brackets where it may be left out
	does        keepalivedOutcome
	text        string // of one that is honoured what it does, else why not, and what serves instead
}

// keepalivedOutcome is what becomes of an option.
type keepalivedOutcome string

const (
	honoured keepalivedOutcome = "honoured"
	needless keepalivedOutcome = "needless" // keepvip does so anyway, and says nothing
	ignored  keepalivedOutcome = "ignored"  // one line of the log says so
	refused  keepalivedOutcome = "refused"  // nothing is started
)

// keepalivedOptions are all of them, in the order of the manual page.
var keepalivedOptions = []keepalivedOption{
	{"use-file", "f", "FILE", honoured, "the keepalived.conf; without it " + keepalivedFile},
	{"vrrp", "P", "", needless, "keepvip has VRRP alone"},
	{"check", "C", "", refused, "keepvip has no virtual servers: keep keepalived for them, beside keepvip"},
	{"no_bfd", "B", "", needless, "keepvip has no BFD"},
	{"all", "", "", needless, "keepvip has VRRP alone"},
	{"log-console", "l", "", honoured, "write the log to standard error, with --log-file, too"},
	{"log-detail", "D", "", needless, "each change of state is logged with its reason; KEEPVIP_LOG_LEVEL=debug says more"},
	{"log-facility", "S", "NAME", ignored, "keepvip does not write to syslog: standard error is for whoever starts it to keep"},
	{"log-file", "g", "FILE", honoured, "add the log to a file, and with --no-syslog to nothing else"},
	{"flush-log-file", "", "", needless, "each line is written immediately"},
	{"no-syslog", "G", "", honoured, "with --log-file leave standard error alone; keepvip never writes to syslog"},
	{"release-vips", "X", "", needless, "keepvip takes its addresses away when it stops"},
	{"dont-release-vrrp", "V", "", ignored, "keepvip takes its addresses away when it stops, because nobody would answer for them by right"},
	{"dont-release-ipvs", "I", "", needless, "keepvip has no virtual servers"},
	{"dont-respawn", "R", "", needless, "keepvip is one process: whoever starts it starts it again"},
	{"dont-fork", "n", "", honoured, "stay in the foreground; without it the start is refused"},
	{"dump-conf", "d", "", honoured, "log each value in force and where it comes from"},
	{"pid", "p", "FILE", honoured, "the file of the process id; without it " + keepalivedPID},
	{"vrrp_pid", "r", "FILE", honoured, "the same for the VRRP process, which is the same one; without it " + keepalivedVRRPPID},
	{"genhash", "T", "", refused, "keepvip asks no virtual servers for web pages: use keepalived's own genhash"},
	{"checkers_pid", "c", "FILE", needless, "there is no such process, and no file"},
	{"address-monitoring", "a", "", ignored, "keepvip logs what happens to its own addresses; ip monitor address shows all"},
	{"bfd_pid", "b", "FILE", needless, "there is no such process, and no file"},
	{"namespace", "s", "NAME", refused, "keepvip stays in the network namespace that it is started in: ip netns exec NAME, or NetworkNamespacePath= of the unit"},
	{"all-config", "e", "", honoured, "an included file that is missing is an error"},
	{"config-id", "i", "ID", honoured, "what lines with @id are for; without it the first part of this host's name"},
	{"snmp", "x", "", ignored, "keepvip has no SNMP: it has metrics for Prometheus, and keepvip status -o json"},
	{"snmp-agent-socket", "A", "FILE", ignored, "keepvip has no SNMP: it has metrics for Prometheus, and keepvip status -o json"},
	{"umask", "u", "MASK", ignored, "keepvip gives each of its files its mode"},
	{"core-dump", "m", "", ignored, "keepvip writes the reason of a crash to standard error"},
	{"core-dump-pattern", "M", "[PATTERN]", ignored, "keepvip writes the reason of a crash to standard error"},
	{"signum", "", "NAME", honoured, "print the number of the signal for STOP, RELOAD, DATA, STATS, STATS_CLEAR or JSON"},
	{"config-test", "t", "[FILE]", honoured, "check the file and stop; what is found goes to standard error, or to FILE"},
	{"perf", "", "[WHAT]", ignored, "perf record -p PID records keepvip, too"},
	{"no-mem-check", "", "", needless, "there is none"},
	{"debug", "", "[OPTIONS]", ignored, "KEEPVIP_LOG_LEVEL=debug says more"},
	{"version", "v", "", honoured, "print the version and stop"},
}

// What keepalived goes by when an option is not given.
const (
	keepalivedFile    = "/etc/keepalived/keepalived.conf"
	keepalivedPID     = "/run/keepalived.pid"
	keepalivedTmp     = "/tmp"
	keepalivedVRRPPID = "/run/vrrp.pid"
)
