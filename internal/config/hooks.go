package config

import "time"

// Hook is a program that is run when this node's part in one VIP changes.
type Hook struct {
	Command   []string // absolute path, and arguments
	User      string   // as that of a check of kind exec, or root
	UID, GID  uint32   // of User, as found on this machine
	States    []HookState
	Type      HookType
	Arguments bool // type, name, state and priority follow those of Command
	Timeout   time.Duration
}

// HookState is what this node is to an entry, in keepalived's words.
type HookState string

// The states.
const (
	HookMaster  HookState = "MASTER"  // it holds the addresses: they are bound and announced
	HookBackup  HookState = "BACKUP"  // it would take them
	HookFault   HookState = "FAULT"   // it is not fit to take them, or takes no part
	HookStop    HookState = "STOP"    // keepvip ends
	HookDeleted HookState = "DELETED" // a reload has taken the entry away
)

// HookType is whose state a hook is told.
type HookType string

// The types.
const (
	HookInstance HookType = "INSTANCE" // of the entry
	HookGroup    HookType = "GROUP"    // of the group that the entry is in
)

// FIFO is where every change of state is written as a line.
type FIFO struct {
	Path     string // "" for none
	User     string // who owns one that keepvip makes; "": keepvip's own
	UID, GID uint32 // of User, as found on this machine
}

const (
	hooksKey = "hooks"
	// maxHooks bounds what one change of state can ask of a node.
	maxHooks = 20
)

// hooked is every option of a hook. They are in the file only: a flag could not say which hook it means.
var hooked = hookOptions()

func hookOptions() []Option {
	at := func(key string) string { return vipsKey + "[]." + hooksKey + "[]." + key }
	return []Option{
		unflagged(at("command"), "", words(func(t target) *[]string { return &t.hook.Command }),
			"The program by its absolute path, and arguments; there is no shell; required"),
		unflagged(at("user"), "", one(userName(), func(t target) *string { return &t.hook.User }),
			"Who the program runs as, by name or id, with its own group, or another behind a colon; only root keeps keepvip's capabilities; required"),
		unflagged(at("states"), "", many(enum(HookMaster, HookBackup, HookFault, HookStop, HookDeleted), func(t target) *[]HookState { return &t.hook.States }),
			"The states that the program is run for; without it all of them. MASTER: the addresses are bound and announced here; BACKUP: this node would take them; FAULT: it is not fit, or takes no part; STOP: keepvip ends; DELETED: a reload has taken the entry away"),
		unflagged(at("type"), string(HookInstance), one(enum(HookInstance, HookGroup), func(t target) *HookType { return &t.hook.Type }),
			"Whose state it is about: INSTANCE, that of the entry; GROUP, that of its group, once for all of them"),
		unflagged(at("arguments"), "true", one(boolean(), func(t target) *bool { return &t.hook.Arguments }),
			"Append type, name, state and priority to the command, as keepalived does for notify; false for a command that is whole, as for notify_master. A JSON document on standard input says more in any case"),
		unflagged(at("timeout"), "10s", one(duration(100*time.Millisecond, 10*time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.hook.Timeout }),
			"How long a run may take; then it is killed with everything that it has started. When keepvip ends all of them have 2s together"),
	}
}

func fifoOptions() []Option {
	return []Option{
		option("notifyFIFO.path", "notify-fifo", "", restart, one(absolute(maxPath, "/run/keepvip/notify"), func(t target) *string { return &t.config.FIFO.Path }),
			"A named pipe to which each change of state is written as a line, as keepalived does: INSTANCE \"apiserver\" MASTER 100; made with mode 0600 where there is none, and then removed at the end; what nobody reads is dropped and counted"),
		option("notifyFIFO.user", "notify-fifo-user", "", restart, one(userName(), func(t target) *string { return &t.config.FIFO.User }),
			"Who owns a pipe that keepvip makes, by name or id, with its own group, or another behind a colon; without it keepvip's own user"),
	}
}
