// Writes docs/reference/commands.md from the commands themselves: `npm run reference`.
import { realpathSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Command, helpFor } from '../src/cli/command.ts'
import { everyCommand } from '../src/cli/main.ts'

const page = fileURLToPath(new URL('../docs/reference/commands.md', import.meta.url))

const introduction = `# Commands

Generated from the code by \`npm run reference\`. \`toolshelf <command> --help\` prints the same.

Exit codes: 0 done, 1 failed, 2 called wrongly, 3 the model stopped early, 130 interrupted.
`

export function commandsPage(commands: readonly Command[]): string {
  const sections = commands.map(
    (command) => `## ${command.name}\n\n\`\`\`text\n${helpFor(command)}\n\`\`\`\n`,
  )
  return [introduction, ...sections].join('\n')
}

if (realpathSync(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  writeFileSync(page, commandsPage(await everyCommand()))
