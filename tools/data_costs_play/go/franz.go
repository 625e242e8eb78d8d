package main

import (
	"context"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func franz(ctx context.Context, p *process) {
	opted := context.Background()
	if p.Conf.ConsumerProtocol {
		// franz-go asks for this word as long as its consumer protocol is in beta.
		opted = context.WithValue(opted, "opt_in_kafka_next_gen_balancer_beta", true)
	}
	client := must(kgo.NewClient(
		kgo.SeedBrokers(p.Bootstrap),
		kgo.WithContext(opted),
		kgo.ConsumerGroup(p.Group),
		kgo.ClientID(p.Process),
		kgo.ConsumeTopics(p.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, func() string {
			return time.Now().UTC().Format("2006-01-02T15:04:05.000Z ")
		})),
		kgo.SessionTimeout(milliseconds(p.Conf.SessionMs)),
		kgo.HeartbeatInterval(milliseconds(p.Conf.HeartbeatMs)),
		kgo.OnPartitionsAssigned(p.noted("assigned")),
		kgo.OnPartitionsRevoked(p.noted("revoked")),
		kgo.OnPartitionsLost(p.noted("lost")),
	))
	for ctx.Err() == nil {
		p.sleepIfSlow()
		polled, stop := context.WithTimeout(ctx, 200*time.Millisecond)
		fetches := client.PollRecords(polled, 50)
		stop()
		fetches.EachRecord(func(record *kgo.Record) {
			p.handle(int(record.Partition), record.Offset)
		})
	}
	p.note("closing", map[string]any{"handled": p.handled})
	client.Close()
}

func (p *process) noted(what string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
		if what == "revoked" {
			// A callback of one's own replaces the commit of the library.
			if err := client.CommitUncommittedOffsets(ctx); err != nil {
				p.note("commit failed", map[string]any{"error": err.Error()})
			}
		}
		member, _ := client.GroupMetadata()
		p.notePartitions(what, partitions, member)
	}
}
