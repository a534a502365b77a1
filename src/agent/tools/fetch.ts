// The tool `Fetch`: fetches a web page as text. It needs permission, and follows redirects only within the approved host.
import type { Content } from '../../core/index.ts'
import { readableText } from '../../lib/index.ts'
import type { AgentTool } from '../types.ts'
import { imageBlock } from './image.ts'

const MAX_BYTES = 3_750_000
const MAX_CHARACTERS = 40_000
const TIMEOUT_MS = 30_000
const MAX_REDIRECTS = 5

/** Creates the tool Fetch. */
export function fetchTool(get: typeof fetch): AgentTool {
  return {
    name: 'Fetch',
    description:
      'Gets a page of the web, or of a server on this machine, by its http or https address. Pages of HTML come as readable text, images as images. A redirect to another host is reported, not followed.',
    searchHint: 'download open web page url http website documentation online',
    shouldDefer: true,
    input_schema: {
      type: 'object',
      properties: {
        url: { type: 'string', minLength: 1, description: 'The whole address.' },
        offset: {
          type: 'integer',
          minimum: 0,
          description: 'The character to begin at, to read on in a long page.',
        },
      },
      required: ['url'],
      additionalProperties: false,
    },
    async run({ url, offset = 0 }, { signal }) {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const address = addressOf(String(url))
      const page = await pageAt(address, get, deadline).catch((error: unknown) => {
        throw signal.aborted ? error : new Error(unreachable(String(url), error))
      })
      return typeof page === 'string' ? page : contentOf(page, Number(offset))
    },
  }
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) throw new Error(`"${text}" is not a URL; include the scheme, e.g. https://example.com/page.`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`Only http and https URLs can be fetched, not ${url.protocol} Use Read for files.`)
  if (url.username !== '' || url.password !== '')
    throw new Error('URLs with a user name or password are not fetched; leave them out.')
  return url
}

type Page = { readonly answer: Response; readonly bytes: Buffer; readonly isCut: boolean }

async function pageAt(address: URL, get: typeof fetch, signal: AbortSignal): Promise<Page | string> {
  const answer = await follow(address, get, signal)
  return typeof answer === 'string' ? answer : { answer, ...(await bodyOf(answer)) }
}

/** The response, or the URL of a redirect to another host. */
async function follow(start: URL, get: typeof fetch, signal: AbortSignal): Promise<Response | string> {
  let url = start
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const headers = { accept: 'text/html, text/*, application/json, */*;q=0.5' }
    const answer = await get(url, { redirect: 'manual', signal, headers })
    const location = answer.headers.get('location')
    if (answer.status < 300 || answer.status >= 400 || location === null) return answer
    await answer.body?.cancel()
    const next = new URL(location, url)
    if (next.host !== url.host || !/^https?:$/.test(next.protocol))
      return `${url} redirects to another host: ${next}. Fetch that URL if you want it.`
    url = next
  }
  return `${start} redirects more than ${MAX_REDIRECTS} times; stopped.`
}

function unreachable(url: string, error: unknown): string {
  const { message, name, cause } = error as Error
  if (name === 'TimeoutError') return `${url} did not answer within ${TIMEOUT_MS / 1000} seconds.`
  const why = (cause as Error | undefined)?.message || message
  return `${url} could not be reached: ${why}`
}

function contentOf({ answer, bytes, isCut }: Page, offset: number): Content {
  const declared = answer.headers.get('content-type') ?? ''
  const type = declared.split(';')[0]?.trim().toLowerCase() ?? ''
  const image = type.startsWith('image/') && !isCut ? imageBlock(bytes, 'The image') : undefined
  if (image) return [image]
  if (!isText(type))
    throw new Error(`The answer is ${type}, not text. Save it with Bash (curl -o) if you need it.`)
  const isHtml = type.includes('html')
  const said = decoded(bytes, isHtml ? declared + bytes.toString('latin1', 0, DECLARED_WITHIN) : declared)
  const text = isHtml ? readableText(said) : said
  const page = text.slice(offset, offset + MAX_CHARACTERS)
  const end = offset + page.length
  const notes = [
    ...(answer.ok ? [] : [`The server answered with status ${answer.status}.`]),
    page,
    ...(page === '' ? [`(Nothing there: the text has ${text.length} characters.)`] : []),
    ...(end < text.length
      ? [`(Characters ${offset} to ${end} of ${text.length}. Read on with offset ${end}.)`]
      : []),
    ...(isCut ? [`(Only the first ${MAX_BYTES} bytes were read.)`] : []),
  ]
  return {
    content: [{ type: 'text', text: notes.filter((note) => note !== '').join('\n') }],
    isError: !answer.ok,
  }
}

/** Bytes in which a page may declare its character encoding, if its server does not. */
const DECLARED_WITHIN = 1024

function decoded(bytes: Buffer, about: string): string {
  const [, charset = 'utf-8'] = /charset\s*=\s*["']?([\w-]+)/i.exec(about) ?? []
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return bytes.toString('utf8')
  }
}

function isText(type: string): boolean {
  return (
    type === '' || type.startsWith('text/') || /\b(json|xml|html|javascript|yaml|toml|x-www-form)/.test(type)
  )
}

async function bodyOf({ body }: Response): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Uint8Array[] = []
  let size = 0
  if (body)
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_BYTES) break
    }
  return { bytes: Buffer.concat(chunks).subarray(0, MAX_BYTES), isCut: size > MAX_BYTES }
}
