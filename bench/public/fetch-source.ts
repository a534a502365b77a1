// Brings the pinned files of a source into a cache folder and reads them. Files are kept by their SHA-256, so a copy that
// came by any other way (a mirror, a colleague) counts as well.
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { PinnedFile, Source } from './sources.ts'

/** Reads a URL; rejects when the response has more than `maxBytes`. */
export type Download = (url: string, maxBytes: number) => Promise<Uint8Array>

const DOWNLOAD_TIMEOUT_MS = 120_000

/** `$XDG_CACHE_HOME/toolshelf-bench`, else `~/.cache/toolshelf-bench`. */
export function benchCacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: cache } = environment
  const parent = cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), '.cache')
  return join(parent, 'toolshelf-bench')
}

/** The texts of a source's files by path; rejects if one can neither be read from the folder nor downloaded. */
export async function fetchSource(
  source: Source,
  folder: string,
  download: Download = downloadOverHttps,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  for (const pinned of source.files) {
    const path = join(folder, pinned.sha256)
    const bytes = (await readVerified(path, pinned)) ?? (await downloadTo(path, source, pinned, download))
    files.set(pinned.path, new TextDecoder().decode(bytes))
  }
  return files
}

/** The address of a file at its commit. */
export function urlOf({ repository, commit }: Source, { path }: PinnedFile): string {
  return `https://github.com/${repository}/raw/${commit}/${path}`
}

async function readVerified(path: string, pinned: PinnedFile): Promise<Uint8Array | undefined> {
  const bytes = await readFile(path).catch(() => undefined)
  return bytes && isExact(bytes, pinned) ? bytes : undefined
}

async function downloadTo(
  path: string,
  source: Source,
  pinned: PinnedFile,
  download: Download,
): Promise<Uint8Array> {
  const url = urlOf(source, pinned)
  const bytes = await download(url, pinned.bytes)
  if (!isExact(bytes, pinned))
    throw new Error(`${url} has ${bytes.length} bytes that are not those pinned (SHA-256 ${pinned.sha256})`)
  await mkdir(join(path, '..'), { recursive: true })
  const temporary = `${path}.${randomUUID()}`
  try {
    await writeFile(temporary, bytes)
    await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
  return bytes
}

function isExact(bytes: Uint8Array, { bytes: size, sha256 }: PinnedFile): boolean {
  return bytes.length === size && createHash('sha256').update(bytes).digest('hex') === sha256
}

const downloadOverHttps: Download = async (url, maxBytes) => {
  const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) }).catch(
    (error: Error) => {
      throw new Error(
        `cannot fetch ${url} (${error.cause instanceof Error ? error.cause.message : error.message})`,
      )
    },
  )
  if (!response.ok || !response.body) throw new Error(`cannot fetch ${url} (status ${response.status})`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`${url} has more than the ${maxBytes} bytes that were pinned`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
