// Makes docs/reference/commands.md from the commands themselves. Part of `npm run reference`.
import { type Command, helpFor } from '../src/cli/command.ts'

const introduction = `# Commands

Generated from the code by \`npm run reference\`. \`toolshelf <command> --help\` prints the same.

Exit codes: 0 done, 1 failed, 2 called wrongly, 3 the model stopped early, 130 interrupted.
`

/** The page: each command's help text. */
export function commandsPage(commands: readonly Command[]): string {
  const sections = commands.map(
    (command) => `## ${command.name}\n\n\`\`\`text\n${helpFor(command)}\n\`\`\`\n`,
  )
  return [introduction, ...sections].join('\n')
}
