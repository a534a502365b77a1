// Writes the generated pages of docs/ from the code: `npm run reference`.
import { readFileSync, writeFileSync } from 'node:fs'
import { everyCommand } from '../src/cli/main.ts'
import { commandsPage } from './commands-page.ts'
import { readFiles, statementsPage } from './statements-page.ts'
import { typesPages } from './types-pages.ts'

const page = (name: string) => new URL(`../docs/${name}`, import.meta.url)
const statements = page('statements.md')

writeFileSync(page('reference/commands.md'), commandsPage(await everyCommand()))
for (const [name, text] of Object.entries(typesPages())) writeFileSync(page(`reference/${name}`), text)
writeFileSync(
  statements,
  statementsPage(readFileSync(statements, 'utf8'), readFiles('src'), readFiles('test')),
)
