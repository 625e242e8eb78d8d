// A consumer process of a play, with franz-go; the argument and the files are those of handler.py.
// Mode auto: the client commits what an earlier poll returned.  Pauses and pills are not for this
// client.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type own struct {
	Group, Process, Topic, Mode, Bootstrap, Folder string
	Conf                                           struct {
		SessionMs   int `json:"session_ms"`
		HeartbeatMs int `json:"heartbeat_ms"`
	}
}

type control struct {
	DelayMs int `json:"delay_ms"`
	Slow    struct {
		Number, Seconds int
		Process         string
	}
}

type process struct {
	own
	notes, records *os.File
	slowNumber     int
	handled        int
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func appended(parts ...string) *os.File {
	flags := os.O_WRONLY | os.O_APPEND | os.O_CREATE
	return must(os.OpenFile(filepath.Join(parts...), flags, 0o644))
}

func (p *process) note(what string, fields map[string]any) {
	line := map[string]any{
		"wall_ms": time.Now().UnixMilli(), "client": p.Process, "group": p.Group,
		"pid": os.Getpid(), "what": what,
	}
	for name, value := range fields {
		line[name] = value
	}
	must(p.notes.Write(append(must(json.Marshal(line)), '\n')))
}

func (p *process) noted(what string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
		numbers := slices.Sorted(slices.Values(partitions[p.Topic]))
		if what == "revoked" {
			// A callback of one's own replaces the commit of the library.
			if err := client.CommitUncommittedOffsets(ctx); err != nil {
				p.note("commit failed", map[string]any{"error": err.Error()})
			}
		}
		if len(numbers) > 0 {
			p.note(what, map[string]any{"partitions": numbers})
		}
	}
}

func (p *process) control() (read control) {
	file := filepath.Join(p.Folder, "control", p.Group+".json")
	if err := json.Unmarshal(must(os.ReadFile(file)), &read); err != nil {
		panic(err)
	}
	return read
}

func (p *process) sleepIfSlow() {
	slow := p.control().Slow
	if slow.Number > p.slowNumber && slow.Process == p.Process {
		p.note("slow", map[string]any{"seconds": slow.Seconds})
		time.Sleep(time.Duration(slow.Seconds) * time.Second)
		p.note("slow over", nil)
	}
	p.slowNumber = max(slow.Number, p.slowNumber)
}

func (p *process) handle(record *kgo.Record) {
	time.Sleep(time.Duration(p.control().DelayMs) * time.Millisecond)
	at := time.Now().UnixMilli()
	must(fmt.Fprintf(p.records, "%d %d %d\n", at, record.Partition, record.Offset))
	p.handled++
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/twmb/franz-go" {
			return module.Version
		}
	}
	return ""
}

func main() {
	p := &process{}
	if err := json.Unmarshal([]byte(os.Args[1]), &p.own); err != nil {
		panic(err)
	}
	p.notes = appended(p.Folder, "clients.jsonl")
	name := fmt.Sprintf("%s.%s.%d.handled", p.Group, p.Process, os.Getpid())
	p.records = appended(p.Folder, "clients", name)
	p.slowNumber = p.control().Slow.Number
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	client := must(kgo.NewClient(
		kgo.SeedBrokers(p.Bootstrap),
		kgo.ConsumerGroup(p.Group),
		kgo.ClientID(p.Process),
		kgo.ConsumeTopics(p.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, func() string {
			return time.Now().UTC().Format("2006-01-02T15:04:05.000Z ")
		})),
		kgo.SessionTimeout(time.Duration(p.Conf.SessionMs)*time.Millisecond),
		kgo.HeartbeatInterval(time.Duration(p.Conf.HeartbeatMs)*time.Millisecond),
		kgo.OnPartitionsAssigned(p.noted("assigned")),
		kgo.OnPartitionsRevoked(p.noted("revoked")),
		kgo.OnPartitionsLost(p.noted("lost")),
	))
	p.note("started", map[string]any{
		"library": "franz-go " + version(), "mode": p.Mode, "conf": p.Conf,
	})
	for ctx.Err() == nil {
		p.sleepIfSlow()
		polled, stop := context.WithTimeout(ctx, 200*time.Millisecond)
		fetches := client.PollRecords(polled, 50)
		stop()
		fetches.EachRecord(p.handle)
	}
	p.note("closing", map[string]any{"handled": p.handled})
	client.Close()
	p.note("closed", nil)
}
