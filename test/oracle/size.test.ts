// The length of what the model reads, which agrees with what `renderRequest` shows and builds none of it.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  hasCacheMarks,
  MEDIA_CHARACTERS,
  readingOf,
  renderRequest,
  visibleTools,
} from '../../packages/core/src/reading.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import {
  assistant,
  deferred,
  found,
  type Json,
  reference,
  request,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from './requests.ts'

const shown = (value: unknown) => renderRequest(value).reduce((sum, segment) => sum + segment.text.length, 0)

const name = fc.constantFrom('a', 'b', 'c', 'd')
const words = fc.stringMatching(/^[a-z ]{1,20}$/)
const addition = (one: string) => ({ type: 'tool_addition', tool: { type: 'tool_reference', name: one } })
const byValue = (one: string) => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition: tool(one, { description: 'by value' }) },
})
const removal = (one: string) => ({ type: 'tool_removal', tool: { type: 'tool_reference', name: one } })
const message = fc.oneof(
  words.map((one) => user(text(one, { cache_control: { type: 'ephemeral' } }))),
  words.map((one): Json => ({ role: 'user', content: one })),
  fc
    .tuple(words, name)
    .map(([id, one]) => assistant(text(id), { ...use(id, one), caller: { type: 'direct' } })),
  fc
    .tuple(words, fc.array(name))
    .map(([id, names]) => user(result(id, [text(id), ...names.map((one) => reference(one))]))),
  fc.tuple(words, fc.array(name)).map(([id, names]) => assistant(search(id), found(id, ...names))),
  name.map((one) => system(addition(one))),
  name.map((one) => system(byValue(one))),
  name.map((one) => system(removal(one))),
  words.map((one): Json => ({ ...system(text(one)), clear_at: 'next_user_message' })),
  words.map((one) => assistant({ type: 'thinking', thinking: one, signature: 'long'.repeat(9) })),
)
const requests = fc
  .tuple(fc.uniqueArray(name), fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }), fc.array(message))
  .map(([names, flags, messages]) => {
    const tools = names.map((one, index) => (flags[index] ? tool(one) : deferred(one)))
    return { ...request(tools, ...messages), system: 'be brief' }
  })

describe('readingOf', () => {
  it('counts the characters and the tools that render shows', () => {
    fc.assert(
      fc.property(requests, (value) => {
        expect(readingOf(value)).toEqual({
          characters: shown(value),
          visibleTools: visibleTools(value).length,
        })
      }),
      { numRuns: runs(100) },
    )
  })

  it('counts an image by a fixed length, however large it is', () => {
    const image = (data: string) => ({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data },
    })
    const small = readingOf(request([], user(image('x'))))
    expect(readingOf(request([], user(image('x'.repeat(1_000_000)))))).toEqual(small)
    expect(small.characters).toBeGreaterThan(MEDIA_CHARACTERS)
  })

  it('answers for JSON of any depth', () => {
    const deep = JSON.parse(`${'{"input":'.repeat(20_000)}1${'}'.repeat(20_000)}`) as Json
    expect(readingOf(request([], assistant(deep))).characters).toBeGreaterThan(20_000)
  })
})

it.each([
  ['a tool', request([tool('a', { cache_control: { type: 'ephemeral' } })], user(text('x')))],
  ['the request', { ...request([], user(text('x'))), cache_control: { type: 'ephemeral' } }],
  ['a system block', { ...request([]), system: [text('x', { cache_control: { type: 'ephemeral' } })] }],
  [
    'a block in a result',
    request([], user(result('1', [text('x', { cache_control: { type: 'ephemeral' } })]))),
  ],
])('a cache mark on %s is seen', (_, marked) => {
  expect(hasCacheMarks(marked)).toBe(true)
  expect(hasCacheMarks(request([tool('a', { input_schema: { cache_control: {} } })], user(text('x'))))).toBe(
    false,
  )
})
