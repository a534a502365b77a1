// Splits chunks of bytes into lines of bounded length. A longer line is dropped, and counted, without being kept.

/** Splits one stream of bytes. */
export type LineSplitter = {
  /** Returns the lines that the chunk completes. */
  push(chunk: Uint8Array): string[]
  /** Drops the line that is not complete; returns whether there was one. */
  end(): boolean
  /** How many lines were too long. */
  readonly dropped: number
}

const NEW_LINE = 0x0a

/** Creates a splitter for lines of at most this many bytes. */
export function createByteLineSplitter(maxBytes: number): LineSplitter {
  let kept: Buffer[] = []
  let size = 0
  let dropped = 0
  const take = (rest: Buffer): string[] => {
    const isLong = size + rest.length > maxBytes
    const line = isLong ? '' : Buffer.concat([...kept, rest]).toString('utf8')
    kept = []
    size = 0
    if (!isLong) return [line]
    dropped++
    return []
  }
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const lines: string[] = []
      let from = 0
      for (let at = bytes.indexOf(NEW_LINE); at >= 0; at = bytes.indexOf(NEW_LINE, from)) {
        lines.push(...take(bytes.subarray(from, at)))
        from = at + 1
      }
      const rest = bytes.subarray(from)
      size += rest.length
      // The start of a line that is too long is not needed any more.
      if (size > maxBytes) kept = []
      else if (rest.length > 0) kept.push(Buffer.from(rest))
      return lines
    },
    end() {
      const isHalf = size > 0
      kept = []
      size = 0
      return isHalf
    },
    get dropped() {
      return dropped
    },
  }
}
