package etcdjournal

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapLogger returns a logger of zap, which etcd uses, that writes warnings and errors to a logger of slog. Below that etcd talks of each step.
func zapLogger(to *slog.Logger) *zap.Logger {
	if to == nil {
		return zap.NewNop()
	}
	return zap.New(core{to: to})
}

// core passes the lines of zap on.
type core struct {
	to     *slog.Logger
	fields []zapcore.Field // of With
}

// Enabled implements zapcore.Core.
func (c core) Enabled(level zapcore.Level) bool { return level >= zapcore.WarnLevel }

// With implements zapcore.Core.
func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{c.to, append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

// Check implements zapcore.Core.
func (c core) Check(line zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(line.Level) {
		return checked.AddCore(line, c)
	}
	return checked
}

// Write implements zapcore.Core. An error is under the key that it has in this tree too.
func (c core) Write(line zapcore.Entry, fields []zapcore.Field) error {
	encoder := zapcore.NewMapObjectEncoder()
	for _, f := range append(c.fields[:len(c.fields):len(c.fields)], fields...) {
		f.AddTo(encoder)
	}
	args := []any{"part", "etcd"}
	for key, value := range encoder.Fields {
		args = append(args, key, value)
	}
	level := slog.LevelWarn
	if line.Level > zapcore.WarnLevel {
		level = slog.LevelError
	}
	c.to.Log(context.Background(), level, line.Message, args...)
	return nil
}

// Sync implements zapcore.Core; nothing is buffered.
func (core) Sync() error { return nil }
