// Loads skills from an HTTP index: `{"skills": [{"name", "description", "url"}]}`, each a SKILL.md on the same origin.
// Implements U3.
import { fieldsOf, isFields, textOf } from '../../lib/index.ts'
import { bodyOf, checkedDescription, checkedName } from './front-matter.ts'
import type { Notify, Skill } from './types.ts'

const MAX_BYTES = 1_000_000
const MAX_SKILLS = 5000
const TIMEOUT_MS = 10_000

/** Fetches a skill index once. Reports a failure, which affects only these skills, and retries on the next use. */
export function remoteSkills(
  index: URL | string,
  fetchUrl: typeof fetch,
  notify: Notify,
): () => Promise<readonly Skill[]> {
  let running: Promise<readonly Skill[]> | undefined
  const fetched = async () => {
    try {
      return await fetchIndex(new URL(index), fetchUrl, notify)
    } catch (error) {
      running = undefined
      notify(`cannot use the skill index ${index}: ${reasonOf(error)}. Local skills still work.`)
      return []
    }
  }
  return () => {
    running ??= fetched()
    return running
  }
}

/** Fetches the index; reports and skips invalid entries. */
async function fetchIndex(index: URL, fetchUrl: typeof fetch, notify: Notify): Promise<Skill[]> {
  const { skills } = fieldsOf(parsed(await fetchText(index, fetchUrl)))
  if (!Array.isArray(skills)) throw new Error('it has no list "skills"')
  if (skills.length > MAX_SKILLS)
    notify(`${index} lists ${skills.length} skills; the first ${MAX_SKILLS} are used.`)
  return skills.slice(0, MAX_SKILLS).flatMap((entry, position) => {
    try {
      return [toSkill(entry, index, fetchUrl)]
    } catch (error) {
      notify(`skill ${position + 1} of ${index} is left out: ${(error as Error).message}.`)
      return []
    }
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('it is not valid JSON')
  }
}

function toSkill(entry: unknown, index: URL, fetchUrl: typeof fetch): Skill {
  if (!isFields(entry)) throw new Error('it is not an object')
  const description = checkedDescription(textOf(entry.description))
  if (description === '') throw new Error('it has no description')
  const url = addressOf(textOf(entry.url), index)
  return {
    name: checkedName(textOf(entry.name)),
    description,
    place: url.href,
    isRemote: true,
    read: async () => bodyOf(await fetchText(url, fetchUrl)),
  }
}

function addressOf(address: string, index: URL): URL {
  if (address === '' || !URL.canParse(address, index.href))
    throw new Error(
      `its url "${address}" is not a URL; include the scheme, e.g. https://example.com/skill.md`,
    )
  const url = new URL(address, index)
  if (url.origin !== index.origin) throw new Error(`its url ${url.href} is not on ${index.origin}`)
  return url
}

/** Follows no redirects, because they could lead to another origin. */
async function fetchText(url: URL, fetchUrl: typeof fetch): Promise<string> {
  const response = await fetchUrl(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`it answered with status ${response.status}`)
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The reason of a `fetch` error, which is in its `cause`. */
function reasonOf(error: unknown): string {
  const { message, cause } = fieldsOf(error)
  return [message ?? error, fieldsOf(cause).message].filter((part) => part !== undefined).join(', ')
}
