// Agents without a terminal that take and give lines of JSON, as Claude Code and Qwen Code do: one process and one session.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Agent } from './agent-suite.ts'
import type { Ask } from './conversation.ts'
import type { Place } from './process.ts'

type Block = { readonly type: string; readonly text?: string; readonly name?: string }
type Line = {
  readonly type: string
  readonly message?: { readonly content: string | readonly Block[] }
  readonly is_error?: boolean
  readonly error?: { readonly message: string }
  readonly result?: string
}

export const streamJson = ['--input-format', 'stream-json', '--output-format', 'stream-json']

/** `words` has `streamJson` in it. */
export function startStreamJson(
  name: string,
  command: string,
  words: readonly string[],
  place: Place,
): Agent {
  const child = spawn(command, words, { ...place, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk
  })
  const gone = ended.then((): never => {
    throw new Error(`${name} ended: ${complaint.slice(-500)}`)
  })
  gone.catch(() => {})

  const called: string[] = []
  let texts: string[] = []
  let settle: (line: Line) => void = () => {}
  createInterface(child.stdout).on('line', (text) => {
    const line = JSON.parse(text) as Line
    const { content = [] } = line.message ?? {}
    if (line.type === 'assistant' && typeof content !== 'string') {
      texts.push(...content.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : [])))
      called.push(...content.flatMap((block) => (block.type === 'tool_use' ? [block.name ?? ''] : [])))
    }
    if (line.type === 'result') settle(line)
  })
  const ask: Ask = async (text) => {
    texts = []
    const done = new Promise<Line>((resolve) => {
      settle = resolve
    })
    const message = { role: 'user', content: text }
    child.stdin.write(
      `${JSON.stringify({ type: 'user', session_id: 'one', message, parent_tool_use_id: null })}\n`,
    )
    const { is_error: isError, error, result } = await Promise.race([done, gone])
    if (isError) throw new Error(error?.message ?? result ?? `${name} reports an error`)
    return texts.join('\n')
  }
  return {
    ask,
    called,
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
