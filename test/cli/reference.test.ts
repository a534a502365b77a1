// The pages of docs/reference/ that `npm run reference` generates are current, and leave nothing unexplained.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandsPage } from '../../scripts/commands-page.ts'
import { typesPages } from '../../scripts/types-pages.ts'
import { everyCommand } from '../../src/cli/main.ts'

const read = (name: string) => readFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), 'utf8')

it('commands.md says what the commands say; npm run reference writes it', async () => {
  expect(read('commands.md')).toBe(commandsPage(await everyCommand()))
})

describe.each(Object.entries(typesPages()))('%s', (name, page) => {
  it('says what the types say; npm run reference writes it', () => {
    expect(read(name)).toBe(page)
  })

  it('explains every event and every field', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| `'))
    expect(rows.length).toBeGreaterThan(40)
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([])
    expect(page).not.toMatch(/^####? .+\n\n+(?=\||#)/m)
  })
})
