// Turns events into metrics. The SDK limits the number of series, whatever names clients choose.

import type { Meter } from '@opentelemetry/api'
import type { ConversationKind, TraceRecord } from '../core/index.ts'
import { dropOldest } from '../lib/index.ts'
import { chatAttributes, inputTokens, toolAttributes } from './attributes.ts'

const TOKEN_BOUNDARIES = Array.from({ length: 14 }, (_, power) => 4 ** power)
const CHAT_BOUNDARIES = Array.from({ length: 14 }, (_, power) => 2 ** power / 100)
const CALL_BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
const MAX_CONVERSATIONS = 10_000

function instruments(meter: Meter) {
  const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } })
  return {
    tokenUsage: histogram('gen_ai.client.token.usage', '{token}', TOKEN_BOUNDARIES),
    chatDuration: histogram('gen_ai.client.operation.duration', 's', CHAT_BOUNDARIES),
    gatewayCallDuration: histogram('mcp.server.operation.duration', 's', CALL_BOUNDARIES),
    toolDuration: histogram('gen_ai.execute_tool.duration', 's', CALL_BOUNDARIES),
    searches: meter.createCounter('toolshelf.searches', { unit: '{search}' }),
    prefixes: meter.createCounter('toolshelf.prefixes', { unit: '{request}' }),
    requestTokens: meter.createCounter('toolshelf.request.tokens', { unit: '{token}' }),
  }
}

/** Returns a reader of records that measures them. */
export function createMetricsReader(
  meter: Meter,
  redact: (text: string) => string,
): (record: TraceRecord) => void {
  const measured = instruments(meter)
  const kinds = new Map<string, ConversationKind>()

  function sampled(record: Extract<TraceRecord, { type: 'sampled' }>): void {
    const { usage, milliseconds = 0, error } = record
    const chat = { ...chatAttributes(record), 'gen_ai.request.model': redact(record.model) }
    const failure = error === undefined ? {} : { 'error.type': '_OTHER' }
    measured.chatDuration.record(milliseconds / 1000, { ...chat, ...failure })
    if (!usage) return
    measured.tokenUsage.record(inputTokens(usage), { ...chat, 'gen_ai.token.type': 'input' })
    measured.tokenUsage.record(usage.output, { ...chat, 'gen_ai.token.type': 'output' })
  }

  return (record) => {
    switch (record.type) {
      case 'opened': {
        if (record.conversation !== undefined) kinds.set(record.conversation, record.kind)
        dropOldest(kinds, MAX_CONVERSATIONS)
        return
      }
      case 'sampled':
        return sampled(record)
      case 'result': {
        const isGateway = kinds.get(record.conversation ?? '') === 'mcp'
        const attributes = { ...toolAttributes(record, isGateway), 'gen_ai.tool.name': redact(record.name) }
        const duration = isGateway ? measured.gatewayCallDuration : measured.toolDuration
        return duration.record((record.milliseconds ?? 0) / 1000, attributes)
      }
      case 'searched':
        return measured.searches.add(1, { 'toolshelf.search.ranker': record.ranker })
      case 'prefix':
        return measured.prefixes.add(1, {
          'toolshelf.prefix.kept': record.isKept,
          ...(record.causes[0] ? { 'toolshelf.prefix.cause': record.causes[0].kind } : {}),
        })
      case 'answered': {
        const { tokensWith, tokensWithout, mode } = record
        const add = (tokens: number | undefined, kind: string) =>
          tokens !== undefined &&
          measured.requestTokens.add(tokens, { 'toolshelf.mode': mode, 'toolshelf.tokens.kind': kind })
        add(tokensWith, 'with')
        add(tokensWithout, 'without')
      }
    }
  }
}
