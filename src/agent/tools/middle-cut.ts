// Bounds output of any length: keeps its beginning and end, and says how much is omitted between them.

/** Collects output and cuts its middle. */
export type MiddleCut = {
  readonly add: (bytes: Buffer) => void
  readonly text: () => string
}

/** Creates a collector that keeps at most this many bytes. */
export function createMiddleCut(maxBytes: number): MiddleCut {
  const half = Math.floor(maxBytes / 2)
  let head = Buffer.alloc(0)
  let tail = Buffer.alloc(0)
  let left = 0
  return {
    add(bytes) {
      const room = Math.max(0, half - head.length)
      head = Buffer.concat([head, bytes.subarray(0, room)])
      const joined = Buffer.concat([tail, bytes.subarray(room)])
      const extra = Math.max(0, joined.length - half)
      left += extra
      tail = joined.subarray(extra)
    },
    text() {
      if (left === 0) return Buffer.concat([head, tail]).toString('utf8')
      const note = `\n… (${left} bytes left out here; send the output to a file and read that to see them) …\n`
      return head.toString('utf8') + note + tail.toString('utf8')
    },
  }
}
