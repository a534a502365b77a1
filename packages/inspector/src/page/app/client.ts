// Sends requests to the process behind the page.
import { parseJson } from '@toolshelf/core/internal'
import { type FailureView, KEY_PARAMETER } from '../../api.ts'
import { createTextLines } from '../../model/records.ts'

/** Thrown for a request that was refused or failed; `status` is 0 if there was no answer. */
export class RequestError extends Error {
  readonly status: number
  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** Sends requests. */
export type PageClient = {
  get<Answer>(path: string): Promise<Answer>
  post<Answer>(path: string, body: unknown): Promise<Answer>
  /** Reads lines until the response ends; waits for `take` if it returns a promise. */
  lines(path: string, take: (lines: string[]) => Promise<void>, signal: AbortSignal): Promise<void>
  /** Whether requests carry a key. */
  hasKey(): boolean
  setKey(key: string): void
}

const STORED_KEY = 'toolshelf-key'

/** Takes the key out of the address, so that it is neither shown nor shared, and keeps it for this tab. */
export function takeKeyFromAddress(): void {
  const found = new RegExp(`[#&?]${KEY_PARAMETER}=([^&]+)`).exec(location.hash)
  if (!found?.[1]) return
  sessionStorage.setItem(STORED_KEY, decodeURIComponent(found[1]))
  const rest = location.hash.replace(found[0], '')
  history.replaceState(null, '', rest.startsWith('#/') ? rest : location.pathname + location.search)
}

/** Creates a client. */
export function createClient(): PageClient {
  const request = async (path: string, options: RequestInit = {}): Promise<Response> => {
    const key = sessionStorage.getItem(STORED_KEY)
    const headers = {
      ...(options.headers ?? {}),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    }
    const response = await fetch(path, { ...options, headers }).catch((error: unknown) => {
      if (options.signal?.aborted) throw error
      throw new RequestError('The process behind this page does not answer. Is it still running?', 0)
    })
    if (!response.ok) throw new RequestError(await failureOf(response), response.status)
    return response
  }
  return {
    async get<Answer>(path: string) {
      return (await (await request(path)).json()) as Answer
    },
    async post<Answer>(path: string, body: unknown) {
      const headers = { 'content-type': 'application/json' }
      const response = await request(path, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await response.json()) as Answer
    },
    async lines(path, take, signal) {
      const response = await request(path, { signal })
      await readLines(response, take)
    },
    hasKey: () => sessionStorage.getItem(STORED_KEY) !== null,
    setKey: (key) => sessionStorage.setItem(STORED_KEY, key),
  }
}

async function failureOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '')
  const failure = parseJson(text) as FailureView | undefined
  return failure ? failure.error : `The request failed with status ${response.status}.`
}

async function readLines(response: Response, take: (lines: string[]) => Promise<void>): Promise<void> {
  const reader = response.body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  let lines: string[] = []
  const splitter = createTextLines((line) => lines.push(line))
  for (;;) {
    const { done, value } = await reader.read()
    splitter.add(decoder.decode(value, { stream: !done }))
    if (done) splitter.end()
    const taken = lines
    lines = []
    if (taken.length > 0) await take(taken)
    if (done) return
  }
}
