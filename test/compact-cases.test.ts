// Compaction and snipping in tables: one history with every kind of message, cut at every place.
import { expect, it } from 'vitest'
import { compactHistory, presentMessages, snipHistory } from '../src/core/index.ts'
import { assistant, result, text, use, user } from './oracle/requests.ts'
import type { Loose } from './support/talk.ts'
import { effects } from './support/variants.ts'

const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' }
const reference = (name: string) => ({ type: 'tool_reference', tool_name: name })
const searched = (id: string) => use(id, 'ToolSearch')
const found = (id: string, name: string) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: [reference(name)],
})
const hosted = (id: string) => ({ type: 'server_tool_use', id, name: 'tool_search_tool_bm25', input: {} })
const hostedResult = (id: string, name: string) => ({
  type: 'tool_search_tool_result',
  tool_use_id: id,
  content: { type: 'tool_search_tool_search_result', tool_references: [reference(name)] },
})
const addition = (name: string) => ({ type: 'tool_addition', tool: { type: 'tool_reference', name } })
const delta = {
  type: 'deferred_tools_delta',
  role: 'user',
  content: 'x',
  addedNames: ['z'],
  removedNames: [],
}

const history: Loose[] = [
  user(text('go')),
  delta,
  assistant(thought, searched('s1'), use('c1', 'Bash')),
  user(found('s1', 'z'), result('c1')),
  assistant(thought, text('So.')),
  user(text('more')),
  { role: 'system', content: [addition('b')] },
  assistant(thought, use('c2', 'Bash')),
  user(result('c2'), text('well')),
  assistant(hosted('h1'), hostedResult('h1', 'a')),
  assistant(thought, use('c3', 'Bash'), text('And.')),
  user(result('c3')),
  assistant(thought),
  user(text('last')),
]

/** A message in a few letters: `a[thinking +c1]` makes the call c1, `u[-c1]` answers it. */
function short(message: Loose): string {
  if (typeof message !== 'object' || message === null) return JSON.stringify(message) ?? 'undefined'
  const { role, type, subtype, content, compactMetadata } = message
  const brief = (block: Loose) =>
    block?.id ? `+${block.id}` : block?.tool_use_id ? `-${block.tool_use_id}` : (block?.text ?? block?.type)
  const blocks = Array.isArray(content) ? content.map(brief) : [JSON.stringify(content)]
  const more = compactMetadata ? ` ${Object.values(compactMetadata).join(' ')}` : ''
  return `${subtype ?? type ?? String(role)[0]}[${blocks.join(' ')}]${more}`
}

async function compacted(messages: Loose[], options: Loose): Promise<string> {
  const asked: Loose[] = []
  const summarize = (gone: Loose[]) => {
    asked.push(...gone)
    return 'sum'
  }
  const kept: Loose[] = await compactHistory(messages, 'ToolSearch', { summarize, ...options })
  return `${kept.map(short).join(' ')} of ${asked.map(short).join(' ')}`
}

const snipped = (messages: Loose[], drop: (index: number) => boolean) =>
  snipHistory(messages, 'ToolSearch', (_, index) => drop(index))
    .map(short)
    .join(' ')

it('C1 C2 C5 a history is cut at every place, and every message of it is left out', async () => {
  const lines: string[] = []
  for (let keep = 0; keep <= history.length + 1; keep++)
    lines.push(`keep ${keep}: ${await compacted(history, { keep })}`)
  for (const index of history.keys())
    lines.push(`without ${index}: ${snipped(history, (at) => at === index)}`)
  lines.push(`without any: ${snipped(history, () => true)}`)
  lines.push(`from 9 on: ${snipped(history, (at) => at >= 9)}`)
  lines.push(`with all: ${snipped(history, () => false)}`)
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./tables/compact.txt')
})

it('C1 the summary, its trigger and the reminder become one note', async () => {
  const note = async (options: Loose, messages: Loose[] = history.slice(0, 1)) => {
    try {
      return (await compactHistory(messages, 'ToolSearch', options)).map(short).join(' ')
    } catch (error) {
      return (error as Error).message
    }
  }
  const rows: Loose[] = [
    { summarize: 'given' },
    { summarize: 'given', trigger: 'auto' },
    { summarize: 'given', reminder: 'and this' },
    { summarize: ' \n' },
    { summarize: () => '' },
    { summarize: async () => 'later' },
    { summarize: () => 5 },
    { summarize: 5 },
    {},
    undefined,
    { summarize: 'given', keep: 1 },
    { summarize: () => 'never', keep: 1 },
    { summarize: 'given', keep: 0.5 },
    { summarize: 'given', keep: -1 },
    { summarize: 'given', keep: '1' },
  ]
  const lines = [await note({ summarize: 'given' }, []), await note({ summarize: () => 'x' }, [])]
  for (const options of rows) lines.push(await note(options))
  expect(lines.join('\n')).toMatchInlineSnapshot(`
    "compact_boundary["given"] manual 0

    compact_boundary["given"] manual 0
    compact_boundary["given"] auto 0
    compact_boundary["given\\n\\nand this"] manual 0
    compact_boundary["The conversation so far was summarised."] manual 0
    compact_boundary["The conversation so far was summarised."] manual 0
    compact_boundary["later"] manual 0
    toolshelf: option "summarize" is 5; use a function that returns text. [BAD_OPTION]
    toolshelf: option "summarize" is 5; use a function that returns the summary, or its text. [BAD_OPTION]
    toolshelf: option "summarize" is undefined; use a function that returns the summary, or its text. [BAD_OPTION]
    toolshelf: option "summarize" is undefined; use a function that returns the summary, or its text. [BAD_OPTION]
    compact_boundary["given"] manual 0 u[go]
    u[go]
    toolshelf: option "keep" is 0.5; use a whole number of messages. [BAD_OPTION]
    toolshelf: option "keep" is -1; use a whole number of messages. [BAD_OPTION]
    toolshelf: option "keep" is "1"; use a whole number of messages. [BAD_OPTION]"
  `)
})

it('C1 C5 cuts every change of a history correctly', async () => {
  const write = async (messages: Loose[]) => [
    await compacted(messages, { keep: 3 }),
    await compacted(messages, { keep: 8 }),
    snipped(messages, (at) => at > 0),
    snipped(messages, (at) => at === 2 || at === 8),
    JSON.stringify(presentMessages(messages, { searchTool: 'ToolSearch', verbose: true })),
  ]
  await expect(await effects(history, write)).toMatchFileSnapshot('./tables/compact-changes.txt')
})
