package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/printable"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/internal/node/follower"
)

func newFollow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "follow",
		Short: "Send this host's connections to the address straight to the members",
		Long: "Has each connection of this host to a virtual address that is spread go straight to one of the fit members, until SIGTERM or SIGINT. The host is\n" +
			"no member: it asks the members who they are. While keepvip does not run, or no member is fit, connections go to the virtual address on the wire.\n" +
			"The configuration is the members' file, unchanged; SIGHUP reads it again. The command needs the capability NET_ADMIN, and without a key\n" +
			"NET_BIND_SERVICE, too. docs/followers.md says how it works; `keepvip status` says which members get connections.",
		Example: "  keepvip follow --config /etc/keepvip/keepvip.yaml\n" +
			"  keepvip follow --vip 10.0.0.100 --spread direct --follow-listen 127.0.0.1:9443",
		Args: noArguments,
	}
	flags := bindConfig(cmd)
	load := func() (*config.Config, error) {
		in := flags.input()
		in.Elsewhere = true // the keys and certificates in it are the members'
		return config.Load(in)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		follows, err := follower.New(cfg)
		if err != nil {
			return err
		}
		log, level := newLogger(cmd.ErrOrStderr(), cfg.Log)
		for _, w := range cfg.Warnings {
			log.Warn(w)
		}
		watch, err := nfttables.OpenWatch()
		if err != nil {
			log.Warn("changes of nftables by others are not told of", "error", err)
		}
		defer watch.Close()
		node, _ := os.Hostname() // a host without a name is known by its address
		p := follower.Process{
			Following: follows, Version: programVersion(), Node: node, Host: follower.Kernel{Log: log, Watch: watch}, Log: log,
			Load: func() (follower.Following, error) {
				cfg, err := load()
				if err != nil {
					return follower.Following{}, err
				}
				level(cfg.Log.Level)
				for _, w := range cfg.Warnings {
					log.Warn(w)
				}
				return follower.New(cfg)
			},
		}
		return failed(p.Run(cmd.Context()))
	}
	return cmd
}

// followerOf is the status of a follower; nil: it is that of a member.
func followerOf(raw json.RawMessage) *follower.Status {
	var s follower.Status
	if err := json.Unmarshal(raw, &s); err != nil || s.Follows == nil {
		return nil
	}
	return &s
}

// followerText is the status of a follower as a person reads it.
func followerText(s *follower.Status, now time.Time) string {
	var b strings.Builder
	key := "without a key"
	if s.Signed {
		key = "with the followers' key"
	}
	fmt.Fprintf(&b, "%s, keepvip %s, follows %s\n", s.Node, s.Version, key)
	b.WriteString(configText(s.Config, now))
	for _, e := range s.Follows {
		fmt.Fprintf(&b, "\n%s: %s\n", e.Name, strings.Join(printable.Words(e.Addresses), " "))
		writeWrong(&b, "PROBLEM", e.Problem, code.NotFollowed)
		if len(e.By) > 0 {
			fmt.Fprintf(&b, "  told by   %s\n", strings.Join(printable.Words(e.By), " "))
		} else {
			fmt.Fprintf(&b, "  told by   NOBODY: no member answers; those known before are used where this host reaches them%s\n", refusedText(e.Refused))
		}
		for _, p := range e.Ports {
			writeFollowed(&b, p)
		}
	}
	return b.String()
}

func writeFollowed(b *strings.Builder, p follower.PortStatus) {
	b.WriteString("  port " + p.Text())
	if p.Wire {
		b.WriteString(": WIRE: no member is used, connections go to the virtual address")
	}
	b.WriteString("\n")
	rows := [][]string{{"    MEMBER", "ADDRESS", "WEIGHT", "CONNECTIONS"}}
	for _, m := range p.Members {
		text, at := "its share", strings.Join(printable.Words(m.SentTo), " ")
		if !m.Used {
			text, at = "none: "+m.Why, m.Address.String()
		}
		rows = append(rows, []string{"    " + cmp.Or(m.Node, "-"), at, fmt.Sprint(m.Weight), text})
	}
	if len(p.Members) > 0 {
		alignRows(b, rows)
	}
}

// refusedText says why answers were refused, which is most often another key.
func refusedText(refused map[string]uint64) string {
	if refused["key"]+refused["mac"]+refused["unsigned"] == 0 {
		return ""
	}
	return "; some answers are signed with another key than this host's followers' key"
}
