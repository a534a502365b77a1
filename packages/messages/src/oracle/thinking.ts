// Checks thinking of models that bind it to everything before it (wire 44): a block is valid only if that is unchanged.
// Implements wire 44.
import {
  fieldsOf,
  hash,
  listOf,
  type Placed,
  pathOf,
  textOf,
  toJson,
  type WalkStep,
  walkRequest,
  withoutCacheControl,
} from '@toolshelf/core/internal'
import { THINKING_BINDING } from '../types.ts'
import type { Refusal } from './error.ts'

/**
 * Returns a hash of everything before a block: system, visible tools, earlier content; without thinking, cache
 * breakpoints, and deferred tools that nothing before the block refers to. A position past the end means the end.
 */
function thinkingPrefix(request: unknown, messageIndex: number, blockIndex: number): string {
  const { before, end } = chain(request)
  const isThere = ({ message, index }: Placed) =>
    message > messageIndex || (message === messageIndex && index >= blockIndex)
  return before.find(({ step }) => isThere(step))?.prefix ?? end
}

/**
 * Returns the signature that such a model puts on thinking in its reply, after the blocks of `reply`.
 *
 * @example
 * const signature = signThinking(prepared.request)
 * messages.push({ role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature }] })
 */
export function signThinking(request: unknown, reply: readonly unknown[] = []): string {
  const fields = fieldsOf(request)
  const messages = listOf(fields.messages)
  const answered = { ...fields, messages: [...messages, { role: 'assistant', content: reply }] }
  return SIGNED + thinkingPrefix(answered, messages.length, reply.length)
}

/** Refuses thinking that `signThinking` bound to another conversation; accepts signatures of any other origin. */
export function checkBoundThinking(request: unknown, betas: readonly string[]): Refusal | undefined {
  const { block_binding: binding } = fieldsOf(fieldsOf(request).thinking)
  const isDropped = fieldsOf(binding).prefix_mismatch_behavior === 'drop_block'
  if (isDropped && betas.includes(THINKING_BINDING)) return undefined
  const broken = chain(request).before.find(({ step, prefix }) => {
    const signature = textOf(step.block.signature)
    return step.block.type === 'thinking' && signature.startsWith(SIGNED) && signature !== SIGNED + prefix
  })
  if (!broken) return undefined
  const fault = 'Invalid `signature` in `thinking` block. The block is bound to a different conversation.'
  return { message: `${pathOf(broken.step)}: ${fault}` }
}

const SIGNED = 'oracle:'

type Link = { readonly step: WalkStep; readonly prefix: string }

/** Computes the prefix before each block in one pass. */
function chain(request: unknown): { before: Link[]; end: string } {
  const { tools, system, steps } = walkRequest(request)
  let prefix = hash(toJson([tools, system]))
  const before: Link[] = []
  for (const step of steps) {
    before.push({ step, prefix })
    if (isThinking(step)) continue
    const loaded = step.segments.filter((segment) => segment.kind === 'functions')
    prefix = hash(toJson([prefix, step.role, withoutCacheControl(step.block), loaded]))
  }
  return { before, end: prefix }
}

function isThinking({ block }: WalkStep): boolean {
  return block.type === 'thinking' || block.type === 'redacted_thinking'
}
