// Writes small transcripts in the forms of the programs that record them.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tool } from '../../../src/core/index.ts'
import { rankers } from '../../../src/rankers/index.ts'
import { type Recording, type ReplayReport, readRecording, replay } from '../../../src/replay/index.ts'

/** Stands for everything that a person, a model or a tool said; no output may contain it. */
export const SECRET = 'hunter2-was-said'

export const MODEL = 'claude-sonnet-5-5'

/** Writes lines to a new file: objects as JSON, texts as they are. */
export function transcript(lines: readonly (object | string)[], name = 'session.jsonl'): string {
  const file = join(mkdtempSync(join(tmpdir(), 'replay-')), name)
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  writeFileSync(file, texts.map((line) => `${line}\n`).join(''))
  return file
}

/** Tools of two servers whose definitions have about `tokens` tokens in total. */
export function toolsOf(
  tokens: number,
  names = ['github/create_issue', 'github/list_issues', 'files/read_file'],
): Tool[] {
  return names.map((full) => {
    const [server = '', name = ''] = full.split('/')
    const text = 'words '.repeat((2.9 * tokens) / names.length / 6)
    const inputSchema = { type: 'object', properties: { note: { type: 'string', description: text } } }
    return { name, server, description: name.replaceAll('_', ' '), inputSchema }
  })
}

export async function replayed(file: string | readonly string[], tools: readonly Tool[] = toolsOf(6000)) {
  const recording = await readRecording([file].flat())
  return { recording, report: await reportOn(recording, tools) }
}

export function reportOn(recording: Recording, tools: readonly Tool[]): Promise<ReplayReport> {
  return replay(recording, { tools, rank: rankers.lexical, model: MODEL })
}

let ids = 0

/** A line of Claude Code; blocks with the same `id` are one reply. */
export function claude(
  type: 'user' | 'assistant',
  content: unknown,
  more: { id?: string; model?: string; usage?: object; line?: object } = {},
): object {
  const { id = `msg_${++ids}`, model = MODEL, usage, line } = more
  const reply = type === 'assistant' ? { id, model, type: 'message', ...(usage ? { usage } : {}) } : {}
  return {
    ...{ parentUuid: 'p', isSidechain: false, sessionId: 's', type, uuid: `u${++ids}` },
    message: { role: type, content, ...reply },
    ...line,
  }
}

export const call = (name: string, input: object = { note: SECRET }, id = `toolu_${++ids}`) => ({
  type: 'tool_use',
  ...{ id, name, input },
})

export const result = (id: string, text = SECRET) => ({ type: 'tool_result', tool_use_id: id, content: text })

export const usage = (read: number, write: number, output = 50) => ({
  ...{
    input_tokens: 3,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: write,
    output_tokens: output,
  },
})

/** A line of a Codex rollout. */
export function codex(type: string, payload: object): object {
  return { timestamp: '2026-11-17T10:00:00.000Z', type, payload }
}

export function tokenCount(input: number, cached: number, total: number): object {
  const last = {
    input_tokens: input,
    cached_input_tokens: cached,
    output_tokens: 20,
    total_tokens: input + 20,
  }
  const info = {
    total_token_usage: { input_tokens: total },
    last_token_usage: last,
    model_context_window: 258_400,
  }
  return codex('event_msg', { type: 'token_count', info })
}
