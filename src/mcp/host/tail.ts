// The last words of a process: bounded, and safe to show.

export type Tail = { add(chunk: Buffer): void; text(): string }

const MOST_BYTES = 8_192
const MOST_LINES = 20

export function createTail(): Tail {
  let kept: Buffer = Buffer.alloc(0)
  return {
    add(chunk) {
      kept = Buffer.concat([kept, chunk.subarray(-MOST_BYTES)]).subarray(-MOST_BYTES)
    },
    text: () => clean(kept.toString('utf8')).split('\n').slice(-MOST_LINES).join('\n'),
  }
}

/** Without colours, other control characters, and half a line at the start. */
function clean(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
      .replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, '')
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f\ufffd]/g, '')
      .trim()
  )
}
