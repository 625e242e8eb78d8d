package main

import (
	"context"
	"log"
	"os"

	kafkago "github.com/segmentio/kafka-go"
)

// kafka-go has no callbacks.
func segmentio(ctx context.Context, p *process) {
	logger := log.New(os.Stdout, "", log.LstdFlags)
	reader := kafkago.NewReader(kafkago.ReaderConfig{
		Brokers:           []string{p.Bootstrap},
		GroupID:           p.Group,
		Topic:             p.Topic,
		StartOffset:       kafkago.FirstOffset,
		SessionTimeout:    milliseconds(p.Conf.SessionMs),
		HeartbeatInterval: milliseconds(p.Conf.HeartbeatMs),
		Dialer:            &kafkago.Dialer{ClientID: p.Process},
		Logger:            kafkago.LoggerFunc(logger.Printf),
		ErrorLogger:       kafkago.LoggerFunc(logger.Printf),
	})
	for {
		record, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			p.note("error", map[string]any{"error": err.Error()})
			continue
		}
		p.sleepIfSlow()
		p.handle(record.Partition, record.Offset)
	}
	p.note("closing", map[string]any{"handled": p.handled})
	if err := reader.Close(); err != nil {
		p.note("error", map[string]any{"error": err.Error()})
	}
}
