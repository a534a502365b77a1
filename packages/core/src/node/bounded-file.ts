// Reads with a size limit: files of the program through one handle, so that the checked file is the one returned, files that
// the user names, which may be a pipe of the shell, and bodies of responses.
import { constants, createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'

/**
 * Reads a file; follows symbolic links. Rejects for pipes, devices and folders, and for files with more than `maxBytes`
 * bytes, without reading them. Callers put the file's name in front of these error messages.
 */
export async function readBoundedFile(path: string, maxBytes: number): Promise<Buffer> {
  // Without O_NONBLOCK, opening a pipe without a writer would wait forever.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new Error('is not a regular file')
    if (found.size > maxBytes) throw new Error(`has ${found.size} bytes, more than ${maxBytes}`)
    const bytes = Buffer.alloc(Math.min(maxBytes + 1, found.size + 4096))
    let size = 0
    while (size < bytes.length) {
      const { bytesRead } = await file.read(bytes, size, bytes.length - size, size)
      if (bytesRead === 0) return bytes.subarray(0, size)
      size += bytesRead
    }
    throw new Error('grows while it is read')
  } finally {
    await file.close()
  }
}

/**
 * Reads a text file that the user names: a regular file, or a pipe of the shell, as in `<(command)`. Rejects for named pipes,
 * devices, and more than `maxBytes` bytes, with an error that has no `code`: callers put the file's name in front of the message.
 */
export async function readNamedText(path: string, maxBytes: number): Promise<string> {
  const found = await stat(path)
  // Opening a FIFO may block forever, and even keep the process from exiting. A shell's <(…) always has a writer.
  if (found.isFIFO() && !/^\/(dev|proc)\//.test(path)) throw new Error('is a named pipe; use a regular file')
  if (found.isCharacterDevice() || found.isBlockDevice()) throw new Error('is a device; use a regular file')
  const tooLarge = new Error(`has more than ${maxBytes / 1_000_000} MB; use a smaller file`)
  if (found.size > maxBytes) throw tooLarge
  const chunks: Buffer[] = []
  let size = 0
  // A pipe may never end, and a file may grow.
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Reads the body of a response up to `maxBytes` and cancels the rest; `isCut` if there was more. */
export async function readBoundedBody({ body }: Response, maxBytes: number) {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    size += chunk.length
    if (size > maxBytes) break
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: size > maxBytes }
}
