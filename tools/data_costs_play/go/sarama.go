package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/IBM/sarama"
)

type claims struct{ *process }

func (c claims) Setup(session sarama.ConsumerGroupSession) error {
	c.notePartitions("assigned", session.Claims(), session.MemberID())
	return nil
}

func (c claims) Cleanup(session sarama.ConsumerGroupSession) error {
	c.notePartitions("revoked", session.Claims(), session.MemberID())
	return nil
}

func (c claims) ConsumeClaim(
	session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim,
) error {
	for {
		select {
		case record, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			c.sleepIfSlow()
			c.handle(int(record.Partition), record.Offset)
			session.MarkMessage(record, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func saramas(ctx context.Context, p *process) {
	sarama.Logger = log.New(os.Stdout, "[sarama] ", log.LstdFlags)
	settings := sarama.NewConfig()
	settings.ClientID = p.Process
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.Group.Session.Timeout = milliseconds(p.Conf.SessionMs)
	settings.Consumer.Group.Heartbeat.Interval = milliseconds(p.Conf.HeartbeatMs)
	group := must(sarama.NewConsumerGroup([]string{p.Bootstrap}, p.Group, settings))
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{p.Topic}, claims{p}); err != nil {
			p.note("error", map[string]any{"error": err.Error()})
			time.Sleep(time.Second)
		}
	}
	p.note("closing", map[string]any{"handled": p.handled})
	if err := group.Close(); err != nil {
		p.note("error", map[string]any{"error": err.Error()})
	}
}
