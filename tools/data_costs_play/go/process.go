// A consumer process of a play, with a Go client; the argument and the files are those of
// handler.py.  Mode auto: the library commits.  Pauses and pills are not for these clients.
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
	"sync"
	"syscall"
	"time"
)

type own struct {
	Client, Group, Process, Topic, Mode, Bootstrap, Folder string
	Conf                                                   struct {
		SessionMs        int  `json:"session_ms"`
		HeartbeatMs      int  `json:"heartbeat_ms"`
		ConsumerProtocol bool `json:"consumer_protocol"`
	}
}

type control struct {
	DelayMs int `json:"delay_ms"`
	Slow    struct {
		Number, Seconds int
		Process         string
	}
}

// sarama handles each partition in a goroutine of its own: lock guards the number of the slow poll
// and the count of records.
type process struct {
	own
	notes, records *os.File
	lock           sync.Mutex
	slowNumber     int
	handled        int
}

var clients = map[string]func(context.Context, *process){
	"franz": franz, "sarama": saramas, "kafka-go": segmentio,
}

var modules = map[string]string{
	"franz":    "github.com/twmb/franz-go",
	"sarama":   "github.com/IBM/sarama",
	"kafka-go": "github.com/segmentio/kafka-go",
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

func milliseconds(number int) time.Duration {
	return time.Duration(number) * time.Millisecond
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

func (p *process) notePartitions(what string, partitions map[string][]int32, member string) {
	numbers := slices.Sorted(slices.Values(partitions[p.Topic]))
	if len(numbers) > 0 {
		p.note(what, map[string]any{"partitions": numbers, "member": member})
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
	p.lock.Lock()
	isSlow := slow.Number > p.slowNumber && slow.Process == p.Process
	p.slowNumber = max(slow.Number, p.slowNumber)
	p.lock.Unlock()
	if isSlow {
		p.note("slow", map[string]any{"seconds": slow.Seconds})
		time.Sleep(time.Duration(slow.Seconds) * time.Second)
		p.note("slow over", nil)
	}
}

func (p *process) handle(partition int, offset int64) {
	time.Sleep(milliseconds(p.control().DelayMs))
	at := time.Now().UnixMilli()
	must(fmt.Fprintf(p.records, "%d %d %d\n", at, partition, offset))
	p.lock.Lock()
	p.handled++
	p.lock.Unlock()
}

func version(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
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
	module := modules[p.Client]
	p.note("started", map[string]any{
		"library": filepath.Base(module) + " " + version(module), "mode": p.Mode, "conf": p.Conf,
	})
	clients[p.Client](ctx, p)
	p.note("closed", nil)
}
