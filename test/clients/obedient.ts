// A model behind Chat Completions that uses the tools it is asked to use, after a search for those that it cannot see; and
// a conversation of 12 turns with it, for agents that defer tools themselves.
import { expect } from 'vitest'
import type { Ask } from './conversation.ts'
import type { Step, Turn } from './model.ts'
import type { Entry, Serving } from './serving.ts'

/** `search`: the tool by which this model searches. */
export function obedient(search: string) {
  let wanted: { readonly name: string; readonly input: object } | undefined
  return ({ tools, last }: Turn): Step => {
    const [, named, input = '{}'] = /^use (\S+) (.+)$/.exec(last) ?? []
    if (named) wanted = { name: named, input: JSON.parse(input) }
    if (!wanted) return { say: `It said: ${last}` }
    const { name } = wanted
    // Codex replaces hyphens.
    const ends = [`__${name}`, `__${name.replaceAll('-', '_')}`]
    const tool = tools.find((one) => ends.some((end) => one.endsWith(end)))
    if (!tool) return { call: search, input: { query: name.replaceAll(/[_-]/g, ' ') } }
    const call = { call: tool, input: wanted.input }
    wanted = undefined
    return call
  }
}

export async function useTools(ask: Ask, gateway: Pick<Serving, 'restart'>, files: string): Promise<void> {
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }]
  const use = (name: string, input: object) => ask(`use ${name} ${JSON.stringify(input)}`)
  // Codex puts what it knows of the machine in front of the first words.
  expect(await ask('hello')).toMatch(/^It said: [\s\S]*hello$/)
  expect(await use('echo', { message: 'seven' })).toContain('Echo: seven')
  expect(await use('create_entities', { entities })).toContain('Ada')
  expect(await use('read_text_file', { path: `${files}/note.txt` })).toContain('the note says seven')
  await gateway.restart()
  expect(await use('echo', { message: 'eight' })).toContain('Echo: eight')
  expect(await use('search_nodes', { query: 'Ada' })).toContain('wrote the first program')
  expect(await use('get-sum', { a: 3, b: 4 })).toContain('7')
  expect(await use('list_directory', { path: files })).toContain('note.txt')
  expect(await use('read_graph', {})).toContain('Ada')
  expect(await use('create_entities', { entities })).toContain('[]')
  expect(await use('echo', { message: 'nine' })).toContain('Echo: nine')
  expect(await ask('goodbye')).toContain('It said: goodbye')
}

/** Returns what the gateway's searches loaded; nothing if the agent searches itself. */
export function checkEmulated(log: readonly Entry[]): string[] {
  const visible = log.map(({ toolsVisible }) => toolsVisible)
  expect(visible, 'nothing that was loaded is lost').toEqual([...visible].sort((a, b) => a - b))
  for (const entry of log) expect(entry).toMatchObject({ status: 200, mode: 'emulate' })
  return log.flatMap((entry) => entry.loaded)
}
