// Counts the tokens of a reply from the usage that its API reports, in whichever of the three shapes, for users with limits.
import type { StreamEvent } from '../types.ts'

/** The tokens of one request and its reply. */
export type TokenCount = {
  /** Reads a part of a reply as an upstream sent it. */
  feed(chunk: Buffer): void
  /** Reads an event of a reply that the gateway makes itself. */
  event(event: StreamEvent): void
  /**
   * Input, cached input included, and output, as reported. A reply that broke off counts a token for each part so far; one
   * without any usage also the request, by its size.
   */
  total(requestBytes: number): number
}

/** Quotes inside of texts are escaped, so that no reply can report usage by its words. */
const FIELD =
  /"(input_tokens|prompt_tokens|cache_creation_input_tokens|cache_read_input_tokens|output_tokens|completion_tokens)"\s*:\s*(\d{1,12})/g
const INPUT = ['input_tokens', 'prompt_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']
const OUTPUT = ['output_tokens', 'completion_tokens']
/** Characters kept of a chunk, because a field may straddle two. */
const SEAM = 64
const BYTES_PER_TOKEN = 4
/** Starts an event of a stream. */
const PART = '\ndata:'

/** Estimates the tokens of a request by its size, where no usage is reported. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** Creates a count at zero. */
export function createTokenCount(): TokenCount {
  const largest = new Map<string, number>()
  let parts = 0
  let seam = ''

  function read(text: string): void {
    for (const [, field = '', value] of text.matchAll(FIELD))
      largest.set(field, Math.max(largest.get(field) ?? 0, Number(value)))
  }

  const sum = (fields: readonly string[]) =>
    fields.reduce((total, field) => total + (largest.get(field) ?? 0), 0)
  return {
    feed(chunk) {
      const text = seam + chunk.toString('latin1')
      read(text)
      // Counts only new parts; the start of a part may straddle two chunks.
      parts += text.slice(Math.max(0, seam.length - PART.length + 1)).split(PART).length - 1
      // A number that continues in the next chunk is then read again, whole.
      seam = text.slice(-SEAM)
    },
    event(event) {
      if (event.type === 'content_block_delta') parts++
      else if (event.type === 'message_start' || event.type === 'message_delta') read(JSON.stringify(event))
    },
    total(requestBytes) {
      const input = largest.size > 0 ? sum(INPUT) : tokensOfBytes(requestBytes)
      return input + (sum(OUTPUT) || parts)
    },
  }
}
