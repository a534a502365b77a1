// Whatever a file holds, a replay ends with figures that are numbers, or says that it is no transcript.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { replayView, TranscriptError } from '../../src/replay/index.ts'
import { runs, seedOr } from '../support/runs.ts'
import {
  call,
  claude,
  codex,
  replayed,
  result,
  SECRET,
  tokenCount,
  transcript,
  usage,
} from './support/transcripts.ts'

const json = fc.jsonValue({ maxDepth: 3 })
const name = fc.constantFrom(
  'mcp__github__create_issue',
  'mcp__files__read_file',
  'Bash',
  'ToolSearch',
  'CallTool',
  '__',
)
const count = fc.integer({ min: 0, max: 300_000 })
const block = fc.oneof(
  name.map((called) => call(called, { query: SECRET, name: called })),
  fc.constant({ type: 'text', text: SECRET }),
  fc.constant(result('toolu_1')),
  json,
)
const line = fc.oneof(
  fc.array(block, { maxLength: 3 }).map((content) => claude('user', content)),
  fc
    .tuple(fc.array(block, { maxLength: 3 }), count, count)
    .map(([content, read, write]) => claude('assistant', content, { usage: usage(read, write) })),
  fc.constant({ ...claude('user', ''), type: 'system', subtype: 'compact_boundary', message: undefined }),
  name.map((called) =>
    codex('response_item', { type: 'function_call', name: called, arguments: SECRET, call_id: 'c' }),
  ),
  fc.tuple(count, count).map(([input, cached]) => tokenCount(input, cached, input)),
  fc
    .array(block, { maxLength: 3 })
    .map((content) => ({ type: 'append', messages: [{ role: 'assistant', content }] })),
  fc.tuple(fc.array(block, { maxLength: 2 }), json).map(([content, reply]) => ({
    request: { model: 'm', messages: [{ role: 'user', content }], tools: [{ name: 'Bash' }] },
    response: reply,
  })),
  fc.record({
    type: fc.constantFrom('append', 'user', 'assistant', 'compacted'),
    message: json,
    messages: json,
    payload: json,
  }),
)

test('a file of any lines', async () => {
  const property = fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (lines) => {
    const { report } = await replayed(transcript(lines)).catch((error: unknown) => {
      expect(error).toBeInstanceOf(TranscriptError)
      return { report: undefined }
    })
    if (!report) return
    const { tokensWith, tokensWithout, tokensSaved, rounds, requests, extraRoundTrips } = report.total
    for (const figure of [tokensWith, tokensWithout, tokensSaved])
      expect(Number.isSafeInteger(figure)).toBe(true)
    expect(rounds - requests).toBe(extraRoundTrips)
    expect(tokensWithout - tokensWith).toBe(tokensSaved)
    expect(replayView(report) + JSON.stringify(report)).not.toContain(SECRET)
  })
  await fc.assert(property, { numRuns: runs(150), seed: seedOr(16) })
})
