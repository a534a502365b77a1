// Each refusal of a block, word by word, next to the nearest block that is taken.
import { describe, expect, it } from 'vitest'
import {
  assistant,
  deferred,
  found,
  type Json,
  reference,
  refusal,
  request,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from './requests.ts'

const hi = user(text('hi'))
const TYPES = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
const PNG = 'iVBORw0KGgo='
const image = (source: unknown): Json => ({ type: 'image', source })
const base64 = (media_type: string, data: unknown): Json => ({ type: 'base64', media_type, data })
const document = (source: unknown): Json => ({ type: 'document', source })
const tag = (type: string) =>
  `: Input tag '${type}' found using 'type' does not match any of the expected tags`
const OBJECT = ': Input should be a valid dictionary or object to extract fields from'

type Case = readonly [block: unknown, refusal: string | undefined]

/** The refusal without the place of the block. */
const refused = (message: Json, ...before: Json[]) =>
  refusal(request([tool('a'), deferred('b')], hi, ...before, message))?.replace(
    /^messages\.\d+\.content\.0/,
    '',
  )

describe('a block of a user', () => {
  it.each<Case>([
    [null, OBJECT],
    [[], OBJECT],
    [{ text: 'x' }, ": Unable to extract tag using discriminator 'type'"],
    [{ type: 'x' }, tag('x')],
    [reference('b'), tag('tool_reference')],
    [text('x', { note: 1 }), '.text.note: Extra inputs are not permitted'],
    [text('x', { citations: [] }), undefined],
    [{ type: 'text' }, '.text.text: Input should be a valid string'],
    [text(''), 'messages: text content blocks must be non-empty'],
    [text(' \n'), 'messages: text content blocks must contain non-whitespace text'],
    [{ type: 'image' }, '.image.source: Field required'],
    [image('x'), `.image.source${OBJECT}`],
    [image({ type: 'toString' }), `.image.source${tag('toString')}`],
    [image(base64('image/png', PNG)), undefined],
    [image(base64('image/png', 'AAAA')), undefined],
    [image(base64('image/png', 'iVBORw0K\nGgo=')), undefined],
    [image(base64('image/bmp', PNG)), `.image.source.base64.media_type: Input should be ${TYPES}`],
    [
      image(base64('image/gif', PNG)),
      '.image.source.base64.data: Image does not match the provided media type image/gif',
    ],
    [image({ type: 'base64', media_type: 'image/png' }), '.image.source.base64.data: Field required'],
    [image(base64('image/png', 5)), '.image.source.base64.data: Input should be a valid string'],
    [image(base64('image/png', ' ')), '.image.source.base64: image cannot be empty'],
    [image(base64('image/png', 'AAAA-')), '.image.source.base64: invalid base64 data'],
    [image(base64('image/png', 'AAAAA')), '.image.source.base64: invalid base64 data'],
    [image(base64('image/png', 'AA==AAAA')), '.image.source.base64: invalid base64 data'],
    [image({ type: 'url', url: 'HTTPS://example.com/a.png' }), undefined],
    [image({ type: 'url', url: 'http://example.com/https://' }), 'Only HTTPS URLs are supported.'],
    [image({ type: 'url' }), '.image.source.url.url: Field required'],
    [image({ type: 'file', file_id: 'f' }), undefined],
    [image({ type: 'file', file_id: 1 }), '.image.source.file.file_id: Input should be a valid string'],
    [document(base64('application/pdf', 'AAAA')), undefined],
    [
      document(base64('image/png', PNG)),
      ".document.source.base64.media_type: Input should be 'application/pdf'",
    ],
    [document(base64('application/pdf', '')), '.document.source.base64: PDF cannot be empty'],
    [document({ type: 'text', media_type: 'text/plain', data: 'x' }), undefined],
    [
      document({ type: 'text', media_type: 'text/html', data: 'x' }),
      ".document.source.text.media_type: Input should be 'text/plain'",
    ],
    [document({ type: 'text', media_type: 'text/plain' }), '.document.source.text.data: Field required'],
    [document({ type: 'content', content: 'x' }), undefined],
    [document({ type: 'content' }), '.document.source.content.content: Input should be a valid list'],
    [document({ type: 'content', content: [text('x'), image(base64('image/png', PNG))] }), undefined],
    [
      document({ type: 'content', content: [text('x'), { type: 'text' }] }),
      '.document.source.content.content.1.text: Field required',
    ],
    [
      document({ type: 'content', content: [{ type: 'image' }] }),
      '.document.source.content.content.0.image.source: Field required',
    ],
    [
      document({ type: 'content', content: [document({})] }),
      `.document.source.content.content.0${tag('document')}`,
    ],
    [document({ type: 'url', url: 'https://example.com/a.pdf' }), undefined],
    [document({ type: 'file', file_id: 'f' }), undefined],
    [{ type: 'search_result', source: 's', title: 't', content: [text('x')] }, undefined],
    [{ type: 'search_result', title: 't', content: [text('x')] }, '.search_result.source: Field required'],
    [{ type: 'search_result', source: 's', content: [text('x')] }, '.search_result.title: Field required'],
    [
      { type: 'search_result', source: 's', title: 't', content: [] },
      '.search_result.content: Input should be a valid list of text blocks',
    ],
    [
      { type: 'search_result', source: 's', title: 't', content: [text('x'), image({})] },
      '.search_result.content: Input should be a valid list of text blocks',
    ],
    [{ type: 'container_upload', file_id: 'f' }, undefined],
    [{ type: 'container_upload' }, '.container_upload.file_id: Field required'],
  ])('%j: %s', (block, message) => expect(refused(user(block))).toBe(message))
})

describe('a result', () => {
  const call = assistant(use('c', 'a'))
  it.each<Case>([
    [{ type: 'tool_result', tool_use_id: 'c' }, undefined],
    [result('c', 5), '.tool_result.content: Input should be a valid list'],
    [{ type: 'tool_result' }, ".tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"],
    [result('c c'), ".tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"],
    [result('c', [text('x'), image(base64('image/png', PNG))]), undefined],
    [result('c', ['x']), `.tool_result.content.0${OBJECT}`],
    [result('c', [{ type: 'thinking' }]), `.tool_result.content.0${tag('thinking')}`],
    [result('c', [text('')]), 'messages: text content blocks must be non-empty'],
    [
      result('c', [text('x'), image({ type: 'url' })]),
      '.tool_result.content.1.image.source.url.url: Field required',
    ],
    [result('c', [reference('b'), reference('b')]), undefined],
    [
      result('c', [{ type: 'tool_reference' }]),
      '.tool_result.content.0.tool_reference.tool_name: Field required',
    ],
    [
      result('c', [reference('b'), text('x')]),
      'Tool definitions/code execution functions cannot be mixed with other content',
    ],
    [result('c', [text('x')], { is_error: true }), undefined],
    [
      result('c', [text('x'), image(base64('image/png', PNG))], { is_error: true }),
      '.tool_result: all content must be type `text` if `is_error` is true',
    ],
    [result('c', [image(base64('image/png', PNG))], { is_error: false }), undefined],
  ])('%j: %s', (block, message) => expect(refused(user(block), call)).toBe(message))
})

describe('a block of the model', () => {
  const answered = (block: unknown) =>
    refusal(
      request(
        [
          tool('a'),
          deferred('b'),
          { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
        ],
        hi,
        assistant(block),
        (block as Json).type === 'tool_use' ? user(result('c')) : hi,
      ),
    )?.replace(/^messages\.1\.content\.0/, '')
  const NAME = "'^[a-zA-Z0-9_-]{1,128}$'"
  it.each<Case>([
    [use('c', 'a'), undefined],
    [{ ...use('c'), id: 5 }, ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"],
    [use('c c'), ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"],
    [use('c', ''), `.tool_use.name: String should match pattern ${NAME}`],
    [use('c', 'a b'), `.tool_use.name: String should match pattern ${NAME}`],
    [use('c', 'a'.repeat(129)), `.tool_use.name: String should match pattern ${NAME}`],
    [{ ...use('c'), input: 'x' }, '.tool_use.input: Input should be a valid dictionary'],
    [result('c'), 'messages.1: `tool_result` blocks can only be in `user` messages'],
    [image(base64('image/png', PNG)), 'messages.1: `image` blocks can only be in `user` messages'],
    [document({}), 'messages.1: `document` blocks can only be in `user` messages'],
  ])('%j: %s', (block, message) => expect(answered(block)).toBe(message))

  it('a search of an odd id', () => {
    expect(refused(hi, assistant(search('c'), found('c', 'b')))).toBe(
      ".server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
    )
  })

  const searched = (content: unknown) =>
    refusal(
      request(
        [
          deferred('b'),
          { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
          tool('a'),
        ],
        hi,
        assistant(search('srvtoolu_1'), { ...found('srvtoolu_1'), content }),
        hi,
      ),
    )?.replace(/^messages\.1\.content\.1\.tool_search_tool_result\.content/, '')
  const list = (tool_references: unknown) => ({ type: 'tool_search_tool_search_result', tool_references })
  it.each<Case>([
    [list([reference('b')]), undefined],
    [list([]), undefined],
    [list(undefined), '.tool_references: Input should be a valid list'],
    [list([reference('b'), text('x')]), '.tool_references: Input should be a valid list'],
    [{ type: 'x' }, tag('x')],
    [{ type: 'tool_search_tool_result_error', error_code: 'unavailable' }, undefined],
    [
      { type: 'tool_search_tool_result_error', error_code: 'x' },
      ".error_code: Input should be 'invalid_tool_input', 'unavailable', 'too_many_requests', 'execution_time_exceeded'",
    ],
  ])('a search that found %j: %s', (content, message) => expect(searched(content)).toBe(message))
})

describe('a system message in the conversation', () => {
  const betas = ['mid-conversation-tool-changes-2026-07-01']
  const inline = ['inline-tools-2026-09-15']
  const change = (type: string, target: unknown): Json => ({ type, tool: target })
  const byName = { type: 'tool_reference', name: 'b' }
  const definition = { type: 'tool_definition', definition: tool('new') }
  const PLACE = 'messages.1.content.0'
  const said = (block: Json, allowed: string[], ...after: Json[]) =>
    refusal(request([tool('a'), deferred('b')], hi, system(block), ...after), { betas: allowed })

  it.each<[string, Json, string[], string | undefined]>([
    ['without a beta', change('tool_addition', byName), [], `${PLACE}${tag('tool_addition')}`],
    ['by name', change('tool_addition', byName), betas, undefined],
    ['a removal by name', change('tool_removal', byName), inline, undefined],
    [
      'by value without its beta',
      change('tool_addition', definition),
      betas,
      `${PLACE}.tool_addition.tool${tag('tool_definition')}`,
    ],
    ['by value', change('tool_addition', definition), inline, undefined],
    [
      'a removal by value',
      change('tool_removal', definition),
      inline,
      `${PLACE}.tool_removal.tool${tag('tool_definition')}`,
    ],
    ['by nothing', change('tool_addition', undefined), inline, `${PLACE}.tool_addition.tool${tag('')}`],
    [
      'without a name',
      change('tool_addition', { type: 'tool_reference' }),
      betas,
      `${PLACE}.tool_addition.tool.tool_reference.name: Field required`,
    ],
    [
      'of a server without a name',
      change('tool_addition', { type: 'mcp_tool_reference', name: 'b' }),
      betas,
      `${PLACE}.tool_addition.tool.mcp_tool_reference.server_name: Field required`,
    ],
    [
      'of an unknown tool',
      change('tool_addition', { type: 'tool_reference', name: 'c' }),
      betas,
      "tool_addition/tool_removal references unknown tool 'c'",
    ],
    [
      'of a bad tool',
      change('tool_addition', { type: 'tool_definition', definition: tool('new tool') }),
      inline,
      `${PLACE}.tool_addition.tool.tool_definition.definition.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
    ],
    ['of an image', image({}), betas, `${PLACE}${tag('image')}`],
  ])('%s', (_, block, allowed, message) => expect(said(block, allowed)).toBe(message))
})

describe('the lists around blocks', () => {
  const whole = (more: Json) => refusal({ ...request([tool('a')], hi), ...more })
  it.each<[string, Json, string | undefined]>([
    ['no messages', { messages: undefined }, 'messages: Field required'],
    ['messages of text', { messages: 'x' }, 'messages: Input should be a valid list'],
    ['an empty list', { messages: [] }, 'messages: at least one message is required'],
    ['a message of text', { messages: ['x'] }, `messages.0${OBJECT}`],
    [
      'another role',
      { messages: [{ role: 'tool', content: 'x' }] },
      "messages.0.role: Input should be 'user', 'assistant' or 'system'",
    ],
    [
      'a field too many',
      { messages: [{ role: 'user', content: 'x', name: 'n' }] },
      'messages.0.name: Extra inputs are not permitted',
    ],
    ['no content', { messages: [{ role: 'user' }] }, 'messages.0.content: Field required'],
    [
      'content of a number',
      { messages: [{ role: 'user', content: 5 }] },
      'messages.0.content: Input should be a valid list',
    ],
    [
      'empty content',
      { messages: [user()] },
      'messages.0: all messages must have non-empty content except for the optional final assistant message',
    ],
    ['empty content of the model, last', { messages: [hi, assistant()] }, undefined],
    [
      'empty content of the model, not last',
      { messages: [hi, assistant(), hi] },
      'messages.1: all messages must have non-empty content except for the optional final assistant message',
    ],
    [
      'the model first',
      { messages: [assistant(text('x')), hi] },
      'messages: first message must use the "user" role',
    ],
    ['a summary first', { messages: [assistant({ type: 'compaction', content: 'x' }), hi] }, undefined],
    ['system as text', { system: 'x' }, undefined],
    ['system as a number', { system: 5 }, 'system: Input should be a valid list'],
    ['an image in system', { system: [text('x'), image({})] }, "system.1.type: Input should be 'text'"],
    [
      'a field too many in system',
      { system: [text('x', { note: 1 })] },
      'system.0.text.note: Extra inputs are not permitted',
    ],
    ['empty system text', { system: [text('')] }, 'system: text content blocks must be non-empty'],
    [
      'half a character',
      { messages: [user(text('a\ud800'))] },
      expect.stringMatching(
        /^The request body is not valid JSON: no low surrogate in string: line 1 column \d+ \(char \d+\)$/,
      ),
    ],
    [
      'half a character behind a backslash',
      { messages: [user(text('\\\ud800'))] },
      expect.stringContaining('no low surrogate'),
    ],
    ['a backslash in front of ud800', { messages: [user(text('\\ud800 \\\\ud800'))] }, undefined],
  ])('%s', (_, more, message) => expect(whole(more)).toEqual(message))

  it('take a hundred images, those in results included', () => {
    const images = (count: number) => Array.from({ length: count }, () => image(base64('image/png', PNG)))
    const say = (count: number) =>
      refusal(
        request(
          [tool('a')],
          hi,
          assistant(use('c', 'a')),
          user(result('c', images(60)), ...images(count - 60)),
        ),
      )
    expect(say(100)).toBeUndefined()
    expect(say(101)).toBe('Too much media: 0 document pages + 101 images > 100')
  })

  it('cite all documents or none', () => {
    const cited = (enabled?: boolean) => ({
      ...document({ type: 'content', content: 'x' }),
      ...(enabled === undefined ? {} : { citations: { enabled } }),
    })
    const say = (...content: Json[]) => refusal(request([tool('a')], user(...content)))
    expect(say(cited(true), cited(true), text('x'))).toBeUndefined()
    expect(say(cited(false), cited())).toBeUndefined()
    expect(say(cited(true), text('x'), cited(false))).toBe(
      'messages.0.content.2.document.citations: must be enabled for all documents or for none',
    )
  })
})
