// `npm run reference` makes pages from the commands and types, which explain every command, event, field and option.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { everyCommand } from '../../packages/cli/src/main.ts'
import { commandsPage } from '../../scripts/commands-page.ts'
import { typesPages } from '../../scripts/types-pages.ts'

const pages = typesPages()

it('commands.md has the help of every command', async () => {
  const page = commandsPage(await everyCommand())
  for (const { name } of await everyCommand()) expect(page).toContain(`\n## ${name}\n\n\`\`\`text\n`)
})

it('options.md names every option of the shelf', () => {
  const source = readFileSync(new URL('../../packages/core/src/options.ts', import.meta.url), 'utf8')
  const [, table = ''] = /^const table.*?= \{\n(.*?)^\}/ms.exec(source) ?? []
  const names = [...table.matchAll(/^ {2}(\w+):/gm)].map(([, name = '']) => name)
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !pages['options.md']?.includes(`\`${name}\``))).toEqual([])
})

describe.each(Object.entries(pages))('%s', (_, page) => {
  it('explains every event and every field', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| `'))
    expect(rows.length).toBeGreaterThan(25)
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([])
    expect(page).not.toMatch(/^####? .+\n\n+(?=\||#)/m)
  })
})
