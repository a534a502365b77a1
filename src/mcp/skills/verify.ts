// Checks a file of a skill against the entry that lists it: its size, its digest and, for SKILL.md, its front matter.
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'yaml'
import { type Fields, fieldsOf, isFields } from '../../lib/index.ts'
import { MANIFEST, MAX_FRONT_MATTER_LENGTH, type SkillEntry, type SkillResource } from './entry.ts'

/** The file differs from its skill's entry. */
export class SkillMismatch extends Error {
  override readonly name = 'SkillMismatch'
}

/** A requested file of a skill. */
export type WantedFile = {
  readonly path: string
  /** As the entry lists it; undefined for a skill without digests. */
  readonly listed: SkillResource | undefined
}

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/
const MAX_BYTES = 16_777_216

/** Returns the text of the file, for SKILL.md without its front matter. Throws if anything differs from the entry. */
export function verifiedText(entry: SkillEntry, { path, listed }: WantedFile, result: Fields): string {
  const bytes = bytesIn(result, path)
  if (listed && bytes.length !== listed.size)
    throw new SkillMismatch(`${path} has ${bytes.length} bytes, but ${listed.size} are listed`)
  if (listed && `sha256:${createHash('sha256').update(bytes).digest('hex')}` !== listed.digest)
    throw new SkillMismatch(`${path} does not have the digest that is listed`)
  if (bytes.length > MAX_BYTES) throw new Error(`${path} is larger than 16 MiB`)
  const text = textIn(bytes, path)
  return path === MANIFEST ? bodyOf(text, entry) : text
}

/** Returns the content of the one file that was read, even if the server spells its URI differently. */
function bytesIn({ contents }: Fields, path: string): Buffer {
  const [content, ...others] = Array.isArray(contents) ? contents : []
  const { text, blob } = fieldsOf(content)
  if (others.length > 0) throw new SkillMismatch(`${path} was answered with several files`)
  if (typeof text === 'string') return Buffer.from(text, 'utf8')
  if (typeof blob === 'string') return Buffer.from(blob, 'base64')
  throw new SkillMismatch(`${path} was answered without a content`)
}

function textIn(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Error(`${path} is not text`)
  }
}

function bodyOf(text: string, { frontmatter }: SkillEntry): string {
  const found = FRONT_MATTER.exec(text)
  const yaml = found?.[1] ?? ''
  if (
    !found ||
    yaml.length > 2 * MAX_FRONT_MATTER_LENGTH ||
    !isDeepStrictEqual(fieldsIn(yaml), plain(frontmatter))
  )
    throw new SkillMismatch(`the front matter of ${MANIFEST} is not the one that is listed`)
  return text.slice(found[0].length).trim()
}

function fieldsIn(yaml: string): unknown {
  try {
    const fields: unknown = parse(yaml, { logLevel: 'error', maxAliasCount: 0 })
    return isFields(fields) ? plain(fields) : undefined
  } catch {
    return undefined
  }
}

/** Converts to plain JSON. */
function plain(value: Fields): unknown {
  return JSON.parse(JSON.stringify(value))
}
