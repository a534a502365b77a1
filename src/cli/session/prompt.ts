// Builds the prompt of `toolshelf run` from the arguments, followed or replaced by piped input.
import { fstatSync } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { type Input, type PipedInput, type Terminal, UsageError } from '../command.ts'

/** Milliseconds to wait for piped input: programs that start us often leave a silent pipe open. */
const INPUT_TIMEOUT_MS = 3000

/** Throws if there can be no prompt, before anything is read. */
export function checkPrompt({ words }: Input, terminal: Terminal): void {
  if (words.length === 0 && !inputOf(terminal).isPiped)
    throw new UsageError('no prompt; pass it as an argument, or through a pipe.')
}

/** Reads the prompt. The argument `-` means piped input, and waits for it without a timeout. */
export async function readPrompt(
  { words }: Input,
  terminal: Terminal,
  notify: (message: string) => void,
): Promise<string> {
  const { stream, isPiped } = inputOf(terminal)
  const said = words.filter((word) => word !== '-').join(' ')
  const isAwaited = words.includes('-') || words.length === 0
  const piped = isAwaited || isPiped ? await readPiped(stream, isAwaited, notify) : ''
  const prompt = [said, piped.trim()].filter((part) => part.trim() !== '').join('\n\n')
  if (prompt === '') throw new UsageError('the prompt is empty.')
  return prompt
}

function inputOf({ input }: Terminal): PipedInput {
  if (input) return input
  const kind = fstatSync(0)
  return { stream: process.stdin, isPiped: kind.isFIFO() || kind.isFile() || kind.isSocket() }
}

async function readPiped(
  stream: PipedInput['stream'],
  isAwaited: boolean,
  notify: (message: string) => void,
): Promise<string> {
  const silence = new AbortController()
  const timer = setTimeout(() => (isAwaited ? notify(WAITING) : silence.abort()), INPUT_TIMEOUT_MS)
  const chunks: Buffer[] = []
  try {
    for await (const chunk of addAbortSignal(silence.signal, stream)) {
      clearTimeout(timer)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    if (!silence.signal.aborted) throw error
    notify('nothing came through the pipe; continuing without it. If there is no input, add "< /dev/null".')
  } finally {
    clearTimeout(timer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const WAITING = 'waiting for the prompt on standard input.'
