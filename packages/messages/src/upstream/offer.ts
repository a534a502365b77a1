// Sends an OpenAI request and retries it without the fields that the server refuses: servers accept different ones.
import type { IncomingMessage } from 'node:http'
import { type Fields, omitFields } from '@toolshelf/core/internal'
import type { HttpAnswer } from '../types.ts'
import { readWhole } from './http.ts'
import { toMessagesError } from './openai.ts'

/** Retries until the server accepts the request or its error names none of the optional fields in `spare`. */
export async function offer(
  request: Fields,
  spare: readonly string[],
  post: (body: Fields) => Promise<IncomingMessage>,
): Promise<{ readonly incoming: IncomingMessage } | { readonly refused: HttpAnswer }> {
  for (let body = request; ; ) {
    const incoming = await post(body)
    if (incoming.statusCode === 200) return { incoming }
    const answer = await readWhole(incoming)
    const named = spare.filter((field) => body[field] !== undefined && isRefused(field, answer))
    if (named.length === 0) return { refused: toMessagesError(answer) }
    body = omitFields(body, ...named)
  }
}

function isRefused(field: string, { status, body }: HttpAnswer): boolean {
  return (status === 400 || status === 422) && new RegExp(`\\b${field}\\b`).test(body)
}
