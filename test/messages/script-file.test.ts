// Reading a script: errors come with their place and a remedy.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createScriptUpstream } from '../../packages/messages/src/upstream/script.ts'
import { loadScript, readScript, ScriptError } from '../../packages/messages/src/upstream/script-file.ts'
import { OFFLINE_NOTE } from '../../packages/messages/src/upstream/script-model.ts'
import { deferred, tool } from '../oracle/requests.ts'
import { ask, finding, talk } from './script-talk.ts'

const step = (value: unknown, when = '(a)') => ({ rules: [{ when, do: [value] }] })
const say = [{ do: [{ say: 'hi' }] }]

describe('mistakes', () => {
  test.each<[unknown, string]>([
    [null, 'the script must be an object with "model", "api"'],
    [[], 'the script must be an object'],
    [{}, 'rules is missing: write a list with at least one entry.'],
    [{ rules: {} }, 'rules must be a list with at least one entry, not {}.'],
    [{ ruels: say }, 'the script: unknown key "ruels". Did you mean "rules"?'],
    [{ rules: say, zzz: 1 }, 'unknown key "zzz". Use one of "model"'],
    [{ rules: say, api: 'new' }, 'api must be one of "current", "old", not "new".'],
    [{ rules: say, model: [] }, 'model must be a list with at least one entry'],
    [{ rules: say, model: 7 }, 'model must be a text, not 7.'],
    [{ rules: say, delay: -1 }, 'delay must be a whole number from 0 to 60000, not -1.'],
    [{ rules: say, boundThinking: 'yes' }, 'boundThinking must be true or false, not "yes".'],
    [{ rules: say, otherwise: '{{1}}' }, 'otherwise: unknown placeholder {{1}}.'],
    [{ rules: ['hi'] }, 'rules[0] must be an object with "when", "do", not "hi".'],
    [{ rules: [{ wen: 'x', do: [] }] }, 'rules[0]: unknown key "wen". Did you mean "when"?'],
    [{ rules: [{ do: [] }] }, 'rules[0].do must be a list with at least one entry, not [].'],
    [step({ say: 'x' }, '(a'), 'rules[0].when: Invalid regular expression'],
    [step({ say: 'x' }, '(a'), 'In JSON each backslash is written twice.'],
    [step('hi'), 'rules[0].do[0] must be an object with "say"'],
    [
      step({}),
      'rules[0].do[0] has no action; write "say", "think", "calls", "stop", "fail", "cut", "call", "search".',
    ],
    [step({ input: {} }), 'rules[0].do[0] has no action'],
    [step({ cal: 'Read' }), 'rules[0].do[0]: unknown key "cal". Did you mean "call"?'],
    [step({ say: 'x', call: 'y' }), '"say" and "call" cannot be combined; write two steps.'],
    [step({ call: 'y', stop: 'end_turn' }), '"stop" and "call" cannot be combined'],
    [step({ say: ' ' }), 'rules[0].do[0].say must be a text, not " ".'],
    [
      step({ say: '{{resutl}}' }),
      'rules[0].do[0].say: unknown placeholder {{resutl}}. Known are {{user}}, {{result}}',
    ],
    [
      step({ say: '{{2}}' }),
      'unknown placeholder {{2}}. Known are {{user}}, {{result}} and, for each group of "when", its number; there are 1.',
    ],
    [
      step({ call: 'x', input: [] }),
      'rules[0].do[0].input must be an object, or a text that becomes one, not [].',
    ],
    [step({ call: 'x', input: { a: ['{{b}}'] } }), 'rules[0].do[0].input: unknown placeholder {{b}}.'],
    [step({ call: '/(x/' }), 'rules[0].do[0].call: Invalid regular expression'],
    [step({ calls: [{ say: 'x' }] }), 'rules[0].do[0].calls[0]: unknown key "say".'],
    [step({ stop: 'tool_use' }), 'rules[0].do[0].stop must be one of "end_turn"'],
    [step({ fail: {} }), 'rules[0].do[0].fail.status is missing: write a whole number from 400 to 599.'],
    [step({ fail: { status: 500, times: 0 } }), 'rules[0].do[0].fail.times must be a whole number from 1'],
    [step({ cut: 1 }), 'rules[0].do[0].cut must be true, not 1.'],
  ])('%j', (script, message) => {
    expect(() => readScript(script)).toThrow(ScriptError)
    expect(() => readScript(script)).toThrow(message)
  })
})

describe('files', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'script-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('the message names the file', async () => {
    const path = join(folder, 'script.json')
    await expect(loadScript(path)).rejects.toThrow(`cannot read the script ${path} (ENOENT); check its path.`)
    await writeFile(path, '{ "rules": [], }')
    await expect(loadScript(path)).rejects.toThrow(`${path} is not JSON: `)
    await writeFile(path, '{\n  "rules": [],\n}')
    await expect(loadScript(path)).rejects.toThrow(
      / at line 3, column 1\. Trailing commas are not allowed\.$/,
    )
    await writeFile(path, '{ "rules": [1,\n] }')
    await expect(loadScript(path)).rejects.toThrow(/ Trailing commas are not allowed\.$/)
    await writeFile(path, '{ "rules": [] // none\n}')
    await expect(loadScript(path)).rejects.toThrow(/ at line 1, column 15\. Comments are not allowed\.$/)
    await writeFile(path, '{ "rules": []\n"model": "x" }')
    await expect(loadScript(path)).rejects.toThrow(/'}' .* at line 2, column 1\.$/)
    await writeFile(path, '{ "rules": 1 }')
    await expect(loadScript(path)).rejects.toThrow(`${path}: rules must be a list`)
    await writeFile(path, JSON.stringify({ rules: say }))
    expect(await loadScript(path)).toMatchObject({ models: ['toolshelf-script'], api: 'current', delay: 0 })
  })

  test('the example works with any tools', async () => {
    const upstream = createScriptUpstream({ script: await loadScript('packages/cli/examples/script.json') })
    const tools = [tool('ToolSearch'), deferred('mcp__mail__send')]
    const run = finding('mcp__mail__send')
    const end = (text: string) => `${text}\n${OFFLINE_NOTE}`
    expect(await talk(upstream, ask('Hi there', tools))).toEqual([[expect.stringMatching(/^Hello!/)]])
    expect(await talk(upstream, ask('Find a way to send mail', tools), run)).toEqual([
      ['Let me search.', 'ToolSearch {"query":"a way to send mail"}'],
      [end('The search says:\nmcp__mail__send')],
    ])
    expect(await talk(upstream, ask('Please call send.', tools), run)).toEqual([
      ['ToolSearch {"query":"send"}'],
      ['mcp__mail__send {}'],
      [end('mcp__mail__send ran')],
    ])
    expect(await talk(upstream, ask('What is this?'))).toEqual([[expect.stringMatching(/^Say hello/)]])
  })
})
