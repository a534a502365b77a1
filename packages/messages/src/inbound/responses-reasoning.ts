// Converts reasoning items to thinking blocks and back. The client keeps a block for us in `encrypted_content`; items
// that come from OpenAI itself travel on unread, for an upstream that understands them.
import { type Fields, fieldsOf, listOf, parseJson, textOf, toJson } from '@toolshelf/core/internal'
import { isKeptThought, keepItem } from '../upstream/thoughts.ts'

/** Starts the encrypted content that holds a block of another API. */
const BLOCK = 'toolshelf-thinking.'

/** Returns whether a request's `reasoning` asks to see a summary of the thinking. */
export function asksForSummary(reasoning: unknown): boolean {
  const { summary, generate_summary: older } = fieldsOf(reasoning)
  const asked = textOf(summary) || textOf(older)
  return asked !== '' && asked !== 'none'
}

/** Returns the thinking block in a reasoning item; undefined if the item has nothing that a model could take back. */
export function fromReasoning(item: Fields): Fields | undefined {
  const encrypted = textOf(item.encrypted_content)
  if (encrypted === '') return undefined
  if (encrypted.startsWith(BLOCK)) return decoded(encrypted.slice(BLOCK.length))
  const block = { type: 'thinking', thinking: summaryText(item), signature: encrypted }
  return isKeptThought(block) ? block : keepItem(item)
}

function decoded(text: string): Fields | undefined {
  const value = parseJson(Buffer.from(text, 'base64url').toString())
  const { type, thinking, signature, data } = fieldsOf(value)
  if (type === 'redacted_thinking' && typeof data === 'string') return { type, data }
  if (type !== 'thinking' || typeof thinking !== 'string' || typeof signature !== 'string') return undefined
  return { type, thinking, signature }
}

/** The parts of a summary are joined as the Responses upstream joins them. */
function summaryText({ summary }: Fields): string {
  return listOf(summary)
    .map((part) => textOf(fieldsOf(part).text))
    .join('\n\n')
}

/**
 * The encrypted content for a block. It is given even if `include` does not ask for it: nothing is stored here, so a
 * client that sends the item back has no other way to return the reasoning.
 */
export function encryptedContent(block: Fields, isShown: boolean): string {
  // A signature that the gateway made contains the whole OpenAI item; only the block's text comes from the summary.
  if (isKeptThought(block) && (isShown || textOf(block.thinking) === '')) return textOf(block.signature)
  return BLOCK + Buffer.from(toJson(block)).toString('base64url')
}
