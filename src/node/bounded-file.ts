// Reads a regular file with a size limit, through one file handle, so that the checked file is the one returned.
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

/**
 * Reads a file; follows symbolic links. Rejects for pipes, devices and folders, and for files with more than `mostBytes`
 * bytes, without reading them. Callers put the file's name in front of these error messages.
 */
export async function readBoundedFile(path: string, mostBytes: number): Promise<Buffer> {
  // Without O_NONBLOCK, opening a pipe without a writer would wait forever.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new Error('is not a regular file')
    if (found.size > mostBytes) throw new Error(`has ${found.size} bytes, more than ${mostBytes}`)
    const bytes = Buffer.alloc(Math.min(mostBytes + 1, found.size + 4096))
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
