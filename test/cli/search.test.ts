// What `toolshelf search` prints for people, beside what commands/search.txt records of its output in a pipe.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readInput } from '../../packages/cli/src/command.ts'
import { searchCommand } from '../../packages/cli/src/search.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'search-'))
  const tool = { name: 'create_issue', description: 'Creates an issue.', input_schema: { type: 'object' } }
  writeFileSync(join(folder, 'tools.jsonl'), JSON.stringify(tool))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function search(words: readonly string[], isInteractive: boolean): Promise<string> {
  const printed: string[] = []
  const terminal = { print: (text: string) => void printed.push(text), report: () => {}, isInteractive }
  const input = readInput(searchCommand, [...words, '--catalog', join(folder, 'tools.jsonl')])
  await searchCommand.run(input, terminal)
  return printed.join('\n')
}

test('a person learns that hits can be explained; programs and those who know do not', async () => {
  const hint = 'Add --explain to see why these tools were found.'
  expect((await search(['create issue'], true)).split('\n').at(-1)).toBe(hint)
  const others = await Promise.all([
    search(['create issue'], false),
    search(['create issue', '--json'], true),
    search(['create issue', '--explain'], true),
    search(['create issue', '--ranker', 'classic'], true),
    search(['zebra'], true),
  ])
  for (const printed of others) expect(printed).not.toContain('Add --explain')
})

test('says that the parts of a score add up only where they do', async () => {
  const explain = async (query: string) => (await search([query, '--explain'], false)).replaceAll(/\s+/g, ' ')
  const translated = 'The score of a translated query is at most 1'
  expect(await explain('eine Aufgabe erstellen')).toContain(translated)
  const english = await explain('create issue')
  expect(english).not.toContain(translated)
  const [, score] = / ([\d.]+) create_issue/.exec(english) ?? []
  const [, parts = ''] = / create_issue (?!.* create_issue )(.*?) words: /.exec(english) ?? []
  const sum = [...parts.matchAll(/[\d.]+/g)].reduce((total, [amount]) => total + Number(amount), 0)
  expect(sum).toBeCloseTo(Number(score), 1)
})
