// Makes reference/commands.md from the commands themselves. Part of `npm run reference`.
import { type Command, EXIT_CODES, helpFor } from '../packages/cli/src/command.ts'

const introduction = `# Commands

Generated from the code by \`npm run reference\`. \`toolshelf <command> --help\` prints the same.

Exit codes: ${EXIT_CODES}.
`

/** The page: each command's help text. */
export function commandsPage(commands: readonly Command[]): string {
  const sections = commands.map(
    (command) => `## ${command.name}\n\n\`\`\`text\n${helpFor(command)}\n\`\`\`\n`,
  )
  return [introduction, ...sections].join('\n')
}
