// What the API refuses besides what tool search depends on, and what it takes: every rule from both sides.
import { describe, expect, it } from 'vitest'
import { validateRequest } from '../../packages/messages/src/oracle/validate.ts'
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
const MARK = { type: 'ephemeral' }
const marked = (block: Json, control: unknown = MARK): Json => ({ ...block, cache_control: control })
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
const image = (source: unknown): Json => ({ type: 'image', source })
const png = (more: Json = {}): Json => image({ type: 'base64', media_type: 'image/png', data: PNG, ...more })
const document = (source: unknown, more: Json = {}): Json => ({ type: 'document', source, ...more })
const thought = (more: Json = {}): Json => ({ type: 'thinking', thinking: 'hm', signature: 'x', ...more })
const refuse = (...messages: unknown[]) => refusal(request([tool('a')], ...messages))
const refuseWith = (more: Json, ...messages: unknown[]) =>
  refusal(
    { ...request([tool('a')], ...(messages.length > 0 ? messages : [hi])), ...more },
    { isComplete: true },
  )

describe('cache breakpoints', () => {
  const four = { tools: [marked(tool('a'))], system: [marked(text('rules'))] }
  const turn = (...content: Json[]) => [hi, assistant(use('c')), user(...content)]

  it('are at most four, over tools, system and messages together', () => {
    const two = turn(result('c', [marked(text('x'))]), marked(text('y')))
    expect(refuseWith(four, ...two)).toBeUndefined()
    const three = turn(marked(result('c', [marked(text('x'))])), marked(text('y')))
    expect(refuseWith(four, ...three)).toBe(
      'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    )
  })

  it('count wherever they occur: inside results, documents and references', () => {
    const parts = [marked(text('a')), marked(text('b'))]
    const inside = document({ type: 'content', content: parts })
    expect(refuseWith(four, user(marked(inside)))).toContain('Found 5.')
    const loaded = turn(result('c', [marked(reference('b')), marked(reference('b')), marked(reference('b'))]))
    const tools = [marked(tool('a')), deferred('b')]
    expect(refuseWith({ ...four, tools }, ...loaded)).toContain('Found 5.')
    const hosted = assistant(search('srvtoolu_1'), {
      ...found('srvtoolu_1'),
      content: {
        type: 'tool_search_tool_search_result',
        tool_references: [1, 2, 3].map(() => marked(reference('b'))),
      },
    })
    expect(refuseWith({ ...four, tools }, hi, hosted, hi)).toContain('Found 5.')
  })

  it('are data, not breakpoints, in what belongs to a tool', () => {
    const call = { ...use('c'), input: { cache_control: MARK } }
    const schema = { type: 'object', properties: { cache_control: { type: 'object' } } }
    const tools = [marked(tool('a', { input_schema: schema }))]
    expect(
      refuseWith({ ...four, tools }, hi, assistant(call), user(marked(result('c')), marked(text('y')))),
    ).toBeUndefined()
  })

  it('for the whole request counts as one on its last block', () => {
    const content = [marked(text('x')), text('y')]
    expect(refuseWith({ ...four, cache_control: MARK }, user(...content))).toBeUndefined()
    expect(refuseWith({ ...four, cache_control: MARK }, user(marked(text('w')), ...content))).toContain(
      'Found 5.',
    )
    const last = [marked(text('w')), marked(text('x'))]
    expect(refuseWith({ ...four, cache_control: MARK }, user(...last))).toBeUndefined()
  })

  it('have one type and two lifetimes, the longer ones first', () => {
    expect(refuse(user(marked(text('x'), { type: 'permanent' })))).toContain("Input tag 'permanent'")
    expect(refuse(user(marked(text('x'), { ...MARK, ttl: '2h' })))).toContain("Input should be '5m' or '1h'")
    const [long, short] = [
      { ...MARK, ttl: '1h' },
      { ...MARK, ttl: '5m' },
    ]
    expect(refuse(user(marked(text('x'), long), marked(text('y'), short)))).toBeUndefined()
    expect(refuse(user(marked(text('x')), marked(text('y'), long)))).toContain(
      "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
    )
    expect(refuseWith({ tools: [marked(tool('a'))], system: [marked(text('r'), long)] })).toContain(
      'system.0',
    )
  })

  it('may be null', () => {
    expect(refuse(user(...[1, 2, 3, 4, 5].map(() => marked(text('x'), null))))).toBeUndefined()
  })
})

describe('thinking', () => {
  const enabled = { max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 1024 } }

  it('has its fields, and no breakpoint', () => {
    expect(refuse(hi, assistant(thought(), text('x')), hi)).toBeUndefined()
    expect(refuse(hi, assistant(thought({ signature: undefined }), text('x')), hi)).toContain(
      'signature: Field required',
    )
    expect(refuse(hi, assistant({ type: 'redacted_thinking' }, text('x')), hi)).toContain(
      'data: Field required',
    )
    expect(refuse(hi, assistant(marked(thought()), text('x')), hi)).toContain(
      'thinking.cache_control: Extra inputs',
    )
  })

  it('is not the last block of a reply', () => {
    expect(refuse(hi, assistant(text('x'), thought()), hi)).toBe(
      'messages.1: The final block in an assistant message cannot be `thinking`.',
    )
    expect(refuse(hi, assistant(thought()), assistant(text('x')), hi)).toBeUndefined()
  })

  it('by hand needs a budget below max_tokens, no forced tool and no other temperature', () => {
    expect(refuseWith(enabled)).toBeUndefined()
    expect(refuseWith({ thinking: { type: 'deep' } })).toContain("Input tag 'deep'")
    expect(refuseWith({ ...enabled, thinking: { type: 'enabled' } })).toContain('budget_tokens')
    expect(refuseWith({ ...enabled, thinking: { type: 'enabled', budget_tokens: 1000 } })).toContain('1024')
    expect(refuseWith({ ...enabled, max_tokens: 1024 })).toContain('`max_tokens` must be greater')
    expect(refuseWith({ ...enabled, tool_choice: { type: 'any' } })).toContain('forces tool use')
    expect(refuseWith({ ...enabled, temperature: 0 })).toContain('`temperature` may only be set to 1')
    expect(refuseWith({ ...enabled, top_k: 5 })).toContain('`top_k` must be unset')
    expect(refuseWith({ thinking: { type: 'adaptive' }, tool_choice: { type: 'any' } })).toBeUndefined()
  })

  it('by hand starts what the model did since the user last spoke', () => {
    const [call, answer] = [assistant(use('c')), user(result('c'))]
    expect(refuseWith(enabled, hi, call, answer)).toContain(
      'Expected `thinking` or `redacted_thinking`, but found `tool_use`',
    )
    expect(refuseWith(enabled, hi, assistant(thought(), use('c')), answer)).toBeUndefined()
    const loop = [assistant(thought(), use('d')), user(result('d')), call, answer]
    expect(refuseWith(enabled, hi, ...loop)).toBeUndefined()
    expect(refuseWith(enabled, hi, call, answer, assistant(text('x')), hi)).toBeUndefined()
    const older = { ...enabled, model: 'claude-opus-4-5' }
    expect(refuseWith(older, hi, assistant(text('The answer is')))).toContain('but found `text`')
  })
})

describe('parameters', () => {
  it.each<[string, Json, string]>([
    ['no model', { model: undefined }, 'model: Field required'],
    ['no limit', { max_tokens: undefined }, 'max_tokens: Field required'],
    ['half a token', { max_tokens: 0.5 }, 'max_tokens: Input should be a valid integer'],
    ['a limit below 0', { max_tokens: -1 }, 'max_tokens: Input should be greater'],
    ['a temperature above 1', { temperature: 1.5 }, 'temperature'],
    ['a blank stop sequence', { stop_sequences: ['\n'] }, 'non-whitespace'],
    ['a choice of another kind', { tool_choice: { type: 'all' } }, "Input tag 'all'"],
    ['a choice that is a word', { tool_choice: 'auto' }, 'tool_choice'],
    ['a tool that is not there', { tool_choice: { type: 'tool', name: 'b' } }, "Tool 'b' not found"],
    ['a choice without tools', { tools: [], tool_choice: { type: 'auto' } }, 'while providing tools'],
  ])('%s is refused', (_, more, message) => {
    expect(refuseWith(more)).toContain(message)
  })

  it('max_tokens may be 0, and is not asked for where tokens are counted or a host adds it later', () => {
    expect(refuseWith({ max_tokens: 0 })).toBeUndefined()
    const { model: _, max_tokens: __, ...counted } = request([tool('a')], hi)
    expect(refusal(counted)).toBeUndefined()
  })

  it('a tool may be chosen that is there', () => {
    expect(refuseWith({ tool_choice: { type: 'tool', name: 'a' } })).toBeUndefined()
    expect(
      refuseWith({ tools: [tool('a'), deferred('b')], tool_choice: { type: 'tool', name: 'b' } }),
    ).toBeUndefined()
  })

  it('the start of a reply cannot end in white space', () => {
    const message = 'messages: final assistant content cannot end with trailing whitespace'
    const older = (...messages: unknown[]) => refuseWith({ model: 'claude-opus-4-5' }, ...messages)
    expect(older(hi, { role: 'assistant', content: 'The answer is ' })).toBe(message)
    expect(older(hi, assistant(text('a\n'), text('b\n')))).toBe(message)
    expect(older(hi, assistant(text('a\n'), text('b')))).toBeUndefined()
    expect(older(hi, assistant(text('a ')), hi)).toBeUndefined()
  })

  it.each([
    ['claude-opus-4-6', true],
    ['claude-sonnet-4.6', true],
    ['us.anthropic.claude-sonnet-5-20260301-v1:0', true],
    ['claude-fable-5-1', true],
    ['claude-opus-4-5-20251101', false],
    ['claude-opus-4-20250514', false],
    ['claude-sonnet-4@20250514', false],
    ['claude-3-5-haiku-20241022', false],
  ])('a reply cannot be started for %s: %s', (model, isRefused) => {
    const started = refuseWith({ model }, hi, assistant(text('The answer is')))
    expect(started).toEqual(isRefused ? expect.stringContaining('must end with a user message') : undefined)
    const paused = assistant(search('srvtoolu_1'), found('srvtoolu_1'))
    expect(refuseWith({ model }, hi, paused)).toBeUndefined()
    const late = [
      hi,
      assistant(search('srvtoolu_1'), use('c')),
      user(result('c')),
      assistant(found('srvtoolu_1')),
    ]
    expect(refuseWith({ model }, ...late)).toBeUndefined()
  })
})

describe('schemas', () => {
  const schema = (more: Json) =>
    refuseWith({ tools: [tool('a', { input_schema: { type: 'object', ...more } })] })

  it.each<[string, Json, string]>([
    ['alternatives at the top', { anyOf: [{ type: 'object' }] }, 'does not support oneOf, allOf, or anyOf'],
    [
      'a property name with other characters',
      { properties: { 'Date<': {} } },
      'Property keys should match pattern',
    ],
    ['a property name of 65 characters', { properties: { ['x'.repeat(65)]: {} } }, 'Property keys'],
    ['properties that are a list', { properties: [] }, 'properties: Input should be a valid dictionary'],
    ['required that is no list', { required: 'x' }, 'required: Input should be a valid list'],
  ])('%s is refused', (_, more, message) => {
    expect(schema(more)).toContain(message)
  })

  it('names and alternatives that lie deeper are free', () => {
    const inner = { type: 'object', anyOf: [{}], properties: { 'Date<': {} } }
    expect(schema({ properties: { 'a.b-c_1': inner } })).toBeUndefined()
  })

  it.each<[string, unknown]>([
    ['a list of items', { type: 'array', items: [{ type: 'string' }] }],
    ['an exclusive limit that is a flag', { type: 'number', minimum: 0, exclusiveMinimum: true }],
    ['a type that is none', { type: 'any' }],
    ['no type in the list', { type: [] }],
    ['a property that is required by itself', { type: 'string', required: true }],
    ['a name that is required twice', { required: ['a', 'a'] }],
    ['an enum that is a text', { enum: 'a' }],
    ['a negative length', { minLength: -1 }],
    ['no alternatives', { anyOf: [] }],
    ['a property that is a text', { properties: { a: 'string' } }],
    ['a fault inside', { $defs: { a: { items: { not: { allOf: [{ type: 'none' }] } } } } }],
    ['a dependency that is a text', { dependencies: { a: 'b' } }],
    ['a text', 'string'],
  ])('%s is not draft 2020-12', (_, inner) => {
    const message = 'input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12'
    expect(schema({ properties: { a: inner } })).toContain(message)
    const definition = tool('b', { input_schema: { type: 'object', properties: { a: inner } } })
    const added = { type: 'tool_addition', tool: { type: 'tool_definition', definition } }
    const messages = [hi, system(added)]
    expect(refusal(request([tool('a')], ...messages), { betas: ['inline-tools-2026-09-15'] })).toContain(
      message,
    )
  })

  it('every keyword of draft 2020-12 passes, as do unknown ones', () => {
    const inner = {
      ...{ $id: 'x', $schema: 'http://json-schema.org/draft-07/schema#', $ref: '#/$defs/a', nullable: true },
      ...{ type: ['array', 'null'], prefixItems: [true, { type: 'string' }], items: false, enum: [] },
      ...{ exclusiveMinimum: 0, multipleOf: 0.5, minLength: 0, uniqueItems: true, default: { type: 'any' } },
      ...{ dependencies: { a: ['b'], c: { type: 'string' } }, dependentRequired: { a: ['b'] } },
      ...{ patternProperties: { '^x': {} }, definitions: { a: {} }, const: { type: 'any' }, examples: [1] },
    }
    expect(schema({ properties: { a: inner } })).toBeUndefined()
  })

  it.each(['function', 'bash', 'tool_search_tool', 'web_search_tool_20250305'])(
    'the API knows no tool of type %s',
    (type) => {
      expect(refuseWith({ tools: [tool('a'), tool('b', { type })] })).toContain(
        `tools.1: Input tag '${type}'`,
      )
    },
  )

  it.each(['bash_20250124', 'text_editor_20250728', 'web_search_20260209', 'memory_20250818'])(
    'it knows %s',
    (type) => {
      expect(refuseWith({ tools: [tool('a'), { type, name: 'b' }] })).toBeUndefined()
    },
  )

  it('a description is text', () => {
    expect(refuseWith({ tools: [tool('a', { description: 7 })] })).toContain('description: Input should be')
  })
})

describe('the body', () => {
  it.each(['\ud83d', 'a\ude00', '\ude00\ud83d'])('half a character, %j, is no JSON', (half) => {
    const message = 'The request body is not valid JSON: no low surrogate in string'
    expect(refuse(user(text(half)))).toContain(message)
    expect(refuseWith({ tools: [tool('a', { description: half })] })).toContain(message)
    expect(refuse(hi, assistant({ ...use('c'), input: { [half]: 1 } }), user(result('c')))).toContain(message)
  })

  it('a whole character passes, as does the escape of half a one', () => {
    expect(refuse(user(text('😀 \\ud83d \\\\ud83d')))).toBeUndefined()
  })

  it('is at most 32 MB', () => {
    const value = request([tool('a')], user(text('x'.repeat(32 * 1024 * 1024))))
    expect(validateRequest(value)).toMatchObject({
      status: 413,
      body: { error: { type: 'request_too_large' } },
    })
  })

  it('a block of the system prompt has its fields and no others', () => {
    expect(refuseWith({ system: [text('rules', { id: 1 })] })).toBe(
      'system.0.text.id: Extra inputs are not permitted',
    )
    expect(refuseWith({ system: [marked(text('rules'))] })).toBeUndefined()
  })
})

describe('where an API behind has the last word', () => {
  it('only what tool search depends on is checked', () => {
    const odd = {
      ...request([tool('a', { input_schema: { type: 'object', anyOf: [] } })]),
      max_tokens: undefined,
      tool_choice: { type: 'newest' },
      thinking: { type: 'newest' },
      messages: [
        user(...[1, 2, 3, 4, 5].map(() => marked(text('x'))), png({ data: '' }), { type: 'hologram' }),
        assistant(thought()),
        user(text('x')),
        system(text('x')),
      ],
    }
    expect(refusal(odd, { isLenient: true })).toBeUndefined()
    expect(refusal(odd)).toBeDefined()
    expect(refusal(request([tool('a')], hi, assistant(use('c'))), { isLenient: true })).toContain('tool_use')
  })
})
