// Rewrites a server's question so that it names the server and contains no hidden or misleading text.
// Implements H9.

import { cleanTexts } from '../../core/tools/index.ts'
import { type Fields, oneLine } from '../../lib/index.ts'

const LONGEST_MESSAGE = 20_000
const LONGEST_URL = 8000

/** Throws if the question cannot be shown to the user safely. */
export function namedQuestion(
  server: string,
  method: string,
  params: Fields,
  shown: (text: string) => string,
): Fields {
  if (method === 'sampling/createMessage') return namedSampling(server, params, shown)
  const { message, url, mode, requestedSchema } = params
  const isUrl = mode === 'url'
  const text = String(message ?? '')
  if (text.length > LONGEST_MESSAGE)
    throw new Error(
      `a question of ${text.length} characters is too long to be shown; ask in ${LONGEST_MESSAGE}`,
    )
  const page = isUrl ? pageAt(server, url) : undefined
  const asks = page ? `asks you to open a page of ${page.host}` : 'asks'
  return {
    ...params,
    ...(page ? { url: page.href } : {}),
    message: `The MCP server "${oneLine(server, 60)}" ${asks}:\n${shown(text)}`,
    ...(requestedSchema === undefined ? {} : { requestedSchema: cleanTexts(requestedSchema) }),
  }
}

/** Clients show the user the whole request before a model gets it; the model reads it too. */
function namedSampling(server: string, params: Fields, shown: (text: string) => string): Fields {
  const { systemPrompt } = params
  const from = `This request comes from the MCP server "${oneLine(server, 60)}".`
  return {
    ...params,
    systemPrompt: typeof systemPrompt === 'string' ? `${from}\n\n${shown(systemPrompt)}` : from,
  }
}

/** Returns the URL that a browser would open, in normalised form. */
function pageAt(server: string, url: unknown): URL {
  const address = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  const isWeb = address?.protocol === 'https:' || address?.protocol === 'http:'
  if (address && isWeb && address.href.length <= LONGEST_URL) return address
  throw new Error(
    `"${server}" asks to open ${oneLine(String(url), 80)}; only http and https pages are passed on, of ${LONGEST_URL} characters at most`,
  )
}

/**
 * The data of an error that sends the user to pages (-32042), named likewise; pages that cannot be shown, or may not be
 * asked for, are left out.
 */
export function namedElicitations(
  server: string,
  data: unknown,
  shown: (text: string) => string,
  mayAsk: (page: Fields) => boolean,
): unknown {
  const { elicitations } = (data ?? {}) as Fields
  if (!Array.isArray(elicitations)) return data
  const named = elicitations.flatMap((one: Fields | null) => {
    try {
      const page = namedQuestion(server, 'elicitation/create', { ...one, mode: 'url' }, shown)
      return mayAsk(page) ? [page] : []
    } catch {
      return []
    }
  })
  return { ...(data as Fields), elicitations: named }
}
