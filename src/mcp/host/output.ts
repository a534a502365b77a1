// What a call returned, as the protocol has it: what a server spelled otherwise is shown rather than lost.
import type { CallOutput } from '../types.ts'
import type { Fields } from './session.ts'

/** What belongs to the connection stays there. */
const OF_CONNECTION = 'io.modelcontextprotocol/'

export function readOutput({ resultType: _, _meta, isError, ...result }: Fields): CallOutput {
  const given = result.content ?? []
  const content = Array.isArray(given) ? (given as unknown[]) : [given]
  const meta = Object.entries(_meta ?? {}).filter(([key]) => !key.startsWith(OF_CONNECTION))
  return {
    ...result,
    ...(typeof isError === 'boolean' ? { isError } : {}),
    ...(meta.length > 0 ? { _meta: Object.fromEntries(meta) } : {}),
    content: content.map((block) => (isBlock(block) ? block : asText(block))),
  }
}

const BLOCK_FIELDS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['text']],
  ['image', ['data', 'mimeType']],
  ['audio', ['data', 'mimeType']],
  ['resource_link', ['uri', 'name']],
])

function isBlock(block: unknown): block is CallOutput['content'][number] {
  const { type, ...fields } = (block ?? {}) as Fields
  if (type === 'resource') return typeof (fields.resource as Fields | null)?.uri === 'string'
  return BLOCK_FIELDS.get(type)?.every((field) => typeof fields[field] === 'string') ?? false
}

/** What the protocol does not know is shown rather than lost. */
function asText(block: unknown): CallOutput['content'][number] {
  return { type: 'text', text: typeof block === 'string' ? block : JSON.stringify(block) }
}
