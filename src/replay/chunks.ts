// Splits a stream of bytes into JSON texts, with bounds: lines, or the entries of a HAR document. Never holds a whole file.

/** Bytes of one line or entry; a longer one is skipped. */
const MAX_BYTES = 64_000_000

const [NEWLINE, QUOTE, BACKSLASH] = [10, 34, 92]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125]

/** Yields each line's text; undefined for one that is too long. Includes a last line without an end. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string | undefined> {
  const text = createText()
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      text.add(chunk.subarray(start, end))
      yield text.take()
      start = end + 1
    }
    text.add(chunk.subarray(start))
  }
  const last = text.take()
  if (last !== '') yield last
}

/** Depth of an entry: the document, its `log`, the list of entries, the entry. */
const ENTRY_DEPTH = 4

/** Yields each object in a list of a HAR's `log` as text; undefined for one that is too long or cut off. */
export async function* readHarEntries(chunks: AsyncIterable<Buffer>): AsyncGenerator<string | undefined> {
  const text = createText()
  let depth = 0
  let isString = false
  let isEscaped = false
  for await (const chunk of chunks) {
    let start = depth >= ENTRY_DEPTH ? 0 : -1
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if (isEscaped) isEscaped = false
      else if (isString) {
        if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) isString = false
      } else if (byte === QUOTE) isString = true
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        depth++
        if (depth === ENTRY_DEPTH) start = at
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        depth--
        if (depth !== ENTRY_DEPTH - 1 || start < 0) continue
        text.add(chunk.subarray(start, at + 1))
        start = -1
        yield text.take()
      }
    }
    if (start >= 0) text.add(chunk.subarray(start))
  }
  if (depth >= ENTRY_DEPTH) yield undefined
}

/** Collects pieces of a text up to the limit. */
function createText() {
  let pieces: Buffer[] = []
  let size = 0
  return {
    add(piece: Buffer) {
      size += piece.length
      // A piece may be part of a buffer that the stream reuses only after this chunk was handled.
      if (size <= MAX_BYTES && piece.length > 0) pieces.push(Buffer.from(piece))
    },
    /** Returns the text and starts the next; undefined if it was too long. */
    take(): string | undefined {
      const text = size <= MAX_BYTES ? Buffer.concat(pieces).toString('utf8') : undefined
      pieces = []
      size = 0
      return text
    },
  }
}
