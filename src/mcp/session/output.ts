// Normalises the result of a call: content blocks of unknown or incomplete types become text.

import { type Fields, toJson } from '../../lib/index.ts'
import { withPassableMeta } from '../protocol/index.ts'
import type { CallOutput } from '../types.ts'

/** Normalises a result. */
export function readOutput({ resultType: _, isError, ...given }: Fields): CallOutput {
  const result = withPassableMeta(given)
  const blocks = result.content ?? []
  const content = Array.isArray(blocks) ? (blocks as unknown[]) : [blocks]
  return {
    ...result,
    ...(typeof isError === 'boolean' ? { isError } : {}),
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

/** Converts a block to text: a string as it is, anything else as JSON. */
function asText(block: unknown): CallOutput['content'][number] {
  return { type: 'text', text: typeof block === 'string' ? block : toJson(block) }
}
