// docs/reference/commands.md is generated from the commands, and current.
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { commandsPage } from '../../scripts/commands-page.ts'
import { everyCommand } from '../../src/cli/main.ts'

it('docs/reference/commands.md says what the commands say; npm run reference writes it', async () => {
  const page = readFileSync(new URL('../../docs/reference/commands.md', import.meta.url), 'utf8')
  expect(page).toBe(commandsPage(await everyCommand()))
})
