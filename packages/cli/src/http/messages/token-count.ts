// Counts the tokens of a request and its reply, for users whose tokens are limited: reserved before, settled after.
import { type Fields, fieldsOf, isFields, listOf, parseJson } from '@toolshelf/core/internal'
import type { ClientWork, StartedWork } from '@toolshelf/core/internal/node'
import type { StreamEvent, UsageListener } from '@toolshelf/messages/internal'

type TokenCount = UsageListener & {
  /** Reads a part of a reply as an upstream sent it. */
  feed(chunk: Buffer): void
  /** Reads an event of a reply that the gateway makes itself. */
  event(event: StreamEvent): void
  /**
   * Input, cached input included, and output: what the upstream reported, or what was delivered if that is more, because a
   * reply that broke off reports no output. Without any report, the input is estimated by the size of the request.
   */
  total(): number
}

/** A count whose estimate has been reserved. */
export type ReservedTokens = TokenCount & Pick<StartedWork, 'settle'>

/** Quotes inside of texts are escaped, so that no reply can report usage by its words. */
const FIELD =
  /"(input_tokens|prompt_tokens|cache_creation_input_tokens|cache_read_input_tokens|output_tokens|completion_tokens)"\s*:\s*(\d{1,12})/g
const INPUT = ['input_tokens', 'prompt_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']
const OUTPUT = ['output_tokens', 'completion_tokens']
/** Longest line of a stream to read. */
const MAX_LINE = 262_144
/** Characters kept of a longer one, because a field may straddle two chunks. */
const SEAM = 64
const BYTES_PER_TOKEN = 4
/** Fields of a delta that a model does not write. */
const NOT_WRITTEN = new Set(['type', 'role', 'id', 'signature'])

/** Creates a count for a request of so many bytes; without them, only what is reported counts. */
function createTokenCount(requestBytes: number | undefined): TokenCount {
  const samplings: Map<string, number>[] = []
  let characters = 0
  let replyBytes = 0
  let isStream = false
  let rest = ''

  function note(field: string, value: number): void {
    if (samplings.length === 0) samplings.push(new Map())
    const last = samplings.at(-1)
    last?.set(field, Math.max(last.get(field) ?? 0, value))
  }

  function readLine(line: string): void {
    if (!line.startsWith('data:')) return
    isStream = true
    if (line.includes('"delta"')) characters += writtenInLine(line)
  }

  const sum = (fields: readonly string[]) =>
    samplings.reduce(
      (total, sampling) => total + fields.reduce((part, field) => part + (sampling.get(field) ?? 0), 0),
      0,
    )
  return {
    feed(chunk) {
      replyBytes += chunk.length
      const text = rest + chunk.toString('latin1')
      for (const [, field = '', value] of text.matchAll(FIELD)) note(field, Number(value))
      const lines = text.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) readLine(line)
      if (rest.length > MAX_LINE) rest = rest.slice(-SEAM)
    },
    event({ type, delta }) {
      if (type === 'content_block_delta') characters += written(delta)
    },
    sampling: () => void samplings.push(new Map()),
    reported(usage) {
      for (const field of [...INPUT, ...OUTPUT])
        if (typeof usage[field] === 'number') note(field, usage[field])
    },
    total() {
      const isReported = samplings.some(({ size }) => size > 0)
      if (requestBytes === undefined) return sum([...INPUT, ...OUTPUT])
      const delivered = isStream || characters > 0 ? characters : isReported ? 0 : replyBytes
      const input = isReported ? sum(INPUT) : tokensOfBytes(requestBytes)
      return input + Math.max(sum(OUTPUT), tokensOfBytes(delivered))
    },
  }
}

/** Output that a reply is expected to have at most if its request does not say. */
const EXPECTED_OUTPUT = 4096
const MAX_OUTPUT = 10_000_000

type ReadBody = {
  /** Bytes of the body as received. */
  readonly bytes: number
  readonly fields: Fields
  /** Whether it asks a model for a reply. */
  readonly isSampling: boolean
}

/**
 * Reserves the most tokens that a request may take: no text has more of them than bytes, and no reply more than its request
 * allows. Returns undefined if its user has no limit of tokens; throws a `LimitError` if they have reached it.
 */
export async function reserveTokens(
  work: ClientWork,
  { bytes, fields, isSampling }: ReadBody,
): Promise<ReservedTokens | undefined> {
  if (!work.isLimited('tokens')) return undefined
  const output = isSampling ? outputOf(fields) : 0
  const { settle } = await work.use('tokens', Math.max(1, bytes + output))
  return { ...createTokenCount(isSampling ? bytes : undefined), settle }
}

/** Returns the most tokens that a reply may have, by the fields of all three APIs. */
function outputOf({ max_tokens, max_completion_tokens, max_output_tokens, n }: Fields): number {
  const given = [max_tokens, max_completion_tokens, max_output_tokens].map(Number).filter((one) => one > 0)
  const replies = Math.max(1, Number(n) || 1)
  return Math.min(MAX_OUTPUT, Math.ceil(Math.max(0, ...given) || EXPECTED_OUTPUT) * replies)
}

function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

function writtenInLine(line: string): number {
  const { type, delta, choices } = fieldsOf(parseJson(line.slice('data:'.length)))
  if (type === 'message_delta') return 0
  return written(delta) + listOf(choices).reduce<number>((sum, one) => sum + written(fieldsOf(one).delta), 0)
}

/** Counts the characters of all texts in a delta that the model wrote. */
function written(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + written(one), 0)
  if (!isFields(value)) return 0
  return Object.entries(value).reduce((sum, [key, one]) => sum + (NOT_WRITTEN.has(key) ? 0 : written(one)), 0)
}
