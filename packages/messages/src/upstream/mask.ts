// Masks the operator's keys in upstream responses: some servers echo the credentials that they refuse.
import { Transform } from 'node:stream'
import { literalRanges, replaceLiterals } from '@toolshelf/core/internal'
import type { Headers, HttpAnswer, SamplingOutcome, StreamEvent, Upstream } from '../types.ts'
import { UpstreamError } from './http.ts'

/** As long as the secret, so that a content length already sent stays correct. */
function maskOf(length: number): string {
  return '[redacted]'.padEnd(length, '*').slice(0, length)
}

/** Shorter secrets are not masked, because they occur in ordinary words. */
const MIN_SECRET_LENGTH = 6

/** Returns the secrets that are long enough to be masked. */
export function maskable(...secrets: readonly (string | undefined)[]): string[] {
  return secrets.filter((secret) => secret !== undefined && secret.length >= MIN_SECRET_LENGTH) as string[]
}

/** Wraps an upstream so that secrets are masked in its errors, headers and documents. */
export function withMaskedSecrets(upstream: Upstream, secrets: readonly string[]): Upstream {
  if (secrets.length === 0) return upstream
  const hide = (answer: HttpAnswer): HttpAnswer => ({
    ...answer,
    headers: maskHeaders(answer.headers, secrets),
    body: maskText(answer.body, secrets),
  })
  return {
    ...upstream,
    ...(upstream.origin ? { origin: { ...upstream.origin, secrets } } : {}),
    sample: async (request, call): Promise<SamplingOutcome> => {
      const sampled = await explained(upstream.sample(request, call), secrets)
      if ('refused' in sampled) return { refused: hide(sampled.refused) }
      const headers = maskHeaders(sampled.headers, secrets)
      return { headers, events: maskedErrors(sampled.events, secrets) }
    },
    countTokens: async (request, call) => {
      const answer = await explained(upstream.countTokens(request, call), secrets)
      return answer && hide(answer)
    },
    models: async (call) => hide(await explained(upstream.models(call), secrets)),
  }
}

export function maskText(text: string, secrets: readonly string[]): string {
  return replaceLiterals(text, secrets, maskOf)
}

export function maskHeaders(headers: Headers, secrets: readonly string[]): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, maskText(value, secrets)]))
}

/** Masks secrets in a byte stream; holds back only bytes that may be the start of a secret. */
export function maskingStream(secrets: readonly string[]): Transform {
  const maxSecretLength = Math.max(0, ...secrets.map((secret) => secret.length))
  let held = ''
  return new Transform({
    transform(chunk: Buffer, _, done) {
      // latin1 maps each byte to one character, so all other bytes pass unchanged.
      const text = held + chunk.toString('latin1')
      const end = safeEnd(text, secrets, maxSecretLength)
      held = text.slice(end)
      done(null, Buffer.from(maskText(text.slice(0, end), secrets), 'latin1'))
    },
    flush(done) {
      done(null, Buffer.from(maskText(held, secrets), 'latin1'))
    },
  })
}

/** Where the part of a text ends that later text cannot change: before what may be the start of a secret. */
function safeEnd(text: string, secrets: readonly string[], maxSecretLength: number): number {
  const end = text.length - heldLength(text, secrets, maxSecretLength)
  return literalRanges(text, secrets).find((range) => range.start < end && end < range.end)?.start ?? end
}

function heldLength(text: string, secrets: readonly string[], maxSecretLength: number): number {
  for (let length = Math.min(maxSecretLength - 1, text.length); length > 0; length--) {
    const end = text.slice(-length)
    if (secrets.some((secret) => secret.length > length && secret.startsWith(end))) return length
  }
  return 0
}

async function* maskedErrors(
  events: AsyncIterable<StreamEvent>,
  secrets: readonly string[],
): AsyncGenerator<StreamEvent> {
  try {
    for await (const event of events)
      yield event.type === 'error'
        ? (JSON.parse(maskText(JSON.stringify(event), secrets)) as StreamEvent)
        : event
  } catch (error) {
    throw hidden(error, secrets)
  }
}

async function explained<Value>(pending: Promise<Value>, secrets: readonly string[]): Promise<Value> {
  try {
    return await pending
  } catch (error) {
    throw hidden(error, secrets)
  }
}

function hidden(error: unknown, secrets: readonly string[]): unknown {
  if (!(error instanceof UpstreamError)) return error
  const message = maskText(error.message, secrets)
  return message === error.message ? error : new UpstreamError(message)
}
