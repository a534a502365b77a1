// `npm run reference`: writes reference pages from the code into reference/, which git ignores.
import { mkdirSync, writeFileSync } from 'node:fs'
import { everyCommand } from '../packages/cli/src/main.ts'
import { commandsPage } from './commands-page.ts'
import { readFiles, statementsPage } from './statements-page.ts'
import { typesPages } from './types-pages.ts'

const folder = new URL('../reference/', import.meta.url)
const pages = {
  'commands.md': commandsPage(await everyCommand()),
  'statements.md': statementsPage(readFiles('packages'), readFiles('test')),
  ...typesPages(),
}

mkdirSync(folder, { recursive: true })
for (const [name, text] of Object.entries(pages)) writeFileSync(new URL(name, folder), text)
console.log(`reference/: ${Object.keys(pages).join(', ')}`)
