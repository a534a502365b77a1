// The public bench: how it converts and fetches sets, and that the generated parts of the docs are as it writes them.
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { contenders, measureOn } from '../../bench/protocol.ts'
import { drawChart } from '../../bench/public/chart.ts'
import { convertBfcl, convertLiveMcpBench, csvRows } from '../../bench/public/convert.ts'
import { fetchSource, urlOf } from '../../bench/public/fetch-source.ts'
import { docsLines, type PublicResults, resultLines, withDocs } from '../../bench/public/results.ts'
import { SOURCES, type Source } from '../../bench/public/sources.ts'
import { createSet } from '../../bench/sets.ts'

const files = (given: Record<string, unknown>) =>
  new Map(
    Object.entries(given).map(([path, value]) => [
      path,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
const lines = (...values: object[]) => values.map((value) => JSON.stringify(value)).join('\n')

describe('converters', () => {
  const search = (id: string, query: string) => ({
    role: 'assistant',
    tool_calls: [{ id, function: { name: 'route', arguments: JSON.stringify({ query }) } }],
  })
  const shown = (id: string, ...pairs: string[]) => ({
    role: 'tool',
    tool_call_id: id,
    content: pairs.map((pair) => pair.replace(/(.+)\/(.+)/, 'server_name: $1\ntool_name: $2')).join('\n'),
  })
  const call = (server_name: string, tool_name: string) => ({
    role: 'assistant',
    tool_calls: [
      { id: 'x', function: { name: 'execute-tool', arguments: JSON.stringify({ server_name, tool_name }) } },
    ],
  })
  const tool = (name: string) => ({ name, description: `${name}.`, inputSchema: { type: 'object' } })

  test('LiveMCPBench: tasks, steps with a tool each, and searches whose results were called', () => {
    const { tools, queries } = convertLiveMcpBench(
      files({
        'a/tools.json': [
          { tools: { disk: { tools: [tool('read'), tool('write')] }, web: { tools: [tool('read')] } } },
        ],
        'b/all_annotations.json': [
          {
            task_id: 't',
            Question: 'Copy it',
            'Annotator Metadata': { Steps: '1. Read it\n2. Write it\n', Tools: '1. read\n2. write' },
          },
          {
            task_id: 'u',
            Question: 'No such tool',
            'Annotator Metadata': { Steps: '1. Do', Tools: '1. gone' },
          },
        ],
        'c/claude_Embedding-0.6B.json': [
          {
            messages: [
              search('1', '<tool_assistant>\nserver: files\ntool: write a file\n</tool_assistant>'),
              shown('1', 'disk/write'),
              search('2', 'nothing useful'),
              shown('2', 'web/read'),
              call('disk', 'write'),
              call('disk', 'read'),
            ],
          },
        ],
      }),
    )
    expect(tools.map(({ name, server }) => [name, server])).toEqual([
      ['mcp__disk__read', 'disk'],
      ['mcp__disk__write', 'disk'],
      ['mcp__web__read', 'web'],
    ])
    const read = { gold: ['mcp__disk__read'], acceptable: ['mcp__web__read'] }
    expect(queries).toEqual([
      {
        id: 't',
        kind: 'task',
        query: 'Copy it',
        gold: ['mcp__disk__read', 'mcp__disk__write'],
        acceptable: read.acceptable,
      },
      { id: 't-0', kind: 'step', query: 'Read it', ...read },
      { id: 't-1', kind: 'step', query: 'Write it', gold: ['mcp__disk__write'] },
      { id: 'agent-0-0', kind: 'agent', query: 'files write a file', gold: ['mcp__disk__write'] },
    ])
  })

  test('BFCL: functions of all cases pooled, the answers’ names as golds, types in JSON’s words', () => {
    const question = (content: string) => [
      [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content },
      ],
    ]
    const add = {
      name: 'add',
      description: 'Adds.',
      parameters: { type: 'dict', properties: { a: { type: 'float' } } },
    }
    const { tools, queries } = convertBfcl(
      files({
        'data/BFCL_v4_multiple.json': lines(
          { id: 'm_0', question: question('1 + 2?'), function: [add, { name: 'sub' }] },
          { id: 'm_1', question: question('unknown'), function: [{ ...add, description: 'Another.' }] },
        ),
        'data/BFCL_v4_irrelevance.json': lines({
          id: 'i',
          question: question('x'),
          function: [{ name: 'mul' }],
        }),
        'data/possible_answer/BFCL_v4_multiple.json': lines(
          { id: 'm_0', ground_truth: [{ add: { a: [1] } }, { add: { a: [2] } }] },
          { id: 'm_1', ground_truth: [{ gone: {} }] },
        ),
      }),
    )
    expect(tools).toMatchObject([{ name: 'add', description: 'Adds.' }, { name: 'sub' }, { name: 'mul' }])
    expect(tools[0]!.input_schema).toEqual({ type: 'object', properties: { a: { type: 'number' } } })
    expect(queries).toEqual([{ id: 'm_0', kind: 'multiple', query: '1 + 2?', gold: ['add'] }])
  })

  test('rows of CSV keep line breaks and quotes within quotes', () => {
    expect(csvRows('a,b\r\n"1\n""2""",3\n,\n\nlast,')).toEqual([
      ['a', 'b'],
      ['1\n"2"', '3'],
      ['', ''],
      ['last', ''],
    ])
  })
})

describe('fetching', () => {
  const content = Buffer.from('{"a":1}')
  const sha256 = createHash('sha256').update(content).digest('hex')
  const source = (commit = 'c0ffee'): Source => ({
    name: 'small',
    repository: 'owner/small',
    commit,
    licence: 'MIT',
    files: [{ path: 'deep/file.json', bytes: content.length, sha256 }],
    convert: () => ({ tools: [], queries: [] }),
  })
  const folderOf = () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolshelf-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }

  test('downloads a file once, at its commit, and keeps it by its SHA-256', async () => {
    const folder = folderOf()
    const urls: string[] = []
    const download = async (url: string, maxBytes: number) => {
      expect(maxBytes).toBe(content.length)
      urls.push(url)
      return content
    }
    for (let round = 0; round < 2; round++)
      expect(await fetchSource(source(), folder, download)).toEqual(new Map([['deep/file.json', '{"a":1}']]))
    expect(urls).toEqual(['https://github.com/owner/small/raw/c0ffee/deep/file.json'])
    expect(readdirSync(folder)).toEqual([sha256])
  })

  test('refuses other content, and does not trust a damaged copy', async () => {
    const folder = folderOf()
    await expect(fetchSource(source(), folder, async () => Buffer.from('{"a":2}'))).rejects.toThrow(
      /not those pinned/,
    )
    expect(readdirSync(folder)).toEqual([])
    writeFileSync(join(folder, sha256), '{"a":')
    expect(await fetchSource(source(), folder, async () => content)).toEqual(
      new Map([['deep/file.json', '{"a":1}']]),
    )
  })

  test('every source is pinned to a commit, and each of its files to a SHA-256', () => {
    for (const one of SOURCES) {
      expect(one.commit).toMatch(/^[\da-f]{40}$/)
      for (const pinned of one.files) {
        expect(pinned.sha256).toMatch(/^[\da-f]{64}$/)
        expect(urlOf(one, pinned)).toMatch(/^https:\/\/github\.com\/[\w-]+\/[\w-]+\/raw\/[\da-f]{40}\/\S+$/)
      }
    }
  })
})

describe('measuring', () => {
  const tools = ['send_email', 'read_file', 'list_events'].map((name) => ({
    name,
    description: `${name.replace('_', ' ')}s (of a user)`,
    input_schema: { type: 'object' },
  }))
  const set = createSet(
    'small',
    tools,
    [{ query: 'Could you send the email? (now)', gold: ['send_email'] }],
    10,
  )

  test.each(contenders().map((contender) => [contender.name, contender] as const))(
    '%s ranks as it is asked to',
    async (_, contender) => {
      for (const isShort of [false, true])
        expect(await measureOn(contender, set, isShort)).toMatchObject({ n: 1, r1: 1, ndcg10: 1 })
    },
  )
})

describe('the docs', () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const results = JSON.parse(read('bench/public/results.json')) as PublicResults

  test('the tables of docs/search.md are as the generator writes them', () => {
    const page = read('docs/search.md')
    expect(withDocs(page, docsLines(results))).toBe(page)
  })

  test('docs/search-quality.svg is as the generator draws it, with colours for both themes', () => {
    const chart = read('docs/search-quality.svg')
    expect(drawChart(results)).toBe(chart)
    expect(chart).toContain('@media(prefers-color-scheme:dark)')
  })

  test('bench/RESULTS.md has the same figures', () => {
    expect(read('bench/RESULTS.md')).toContain(resultLines(results).join('\n'))
  })

  test('a page without the markers is refused', () => {
    expect(() => withDocs('# Search', [])).toThrow(/lacks the lines/)
  })
})
