// `toolshelf remove`: takes a server out of our own configuration without an editor.
import { slugOf } from '@toolshelf/core/internal'
import { type LocalMachine, removeServer, thisMachine } from '@toolshelf/mcp/internal'
import { type Command, CommandError, didYouMean, UsageError } from './command.ts'
import { editFile, fileIn, fileOption } from './servers/own-servers.ts'
import { printable } from './terminal/pen.ts'

export const remove: Command = removeCommand(thisMachine)

/** Creates the command; `machine` is read when it runs. */
export function removeCommand(machine: () => LocalMachine): Command {
  return {
    name: 'remove',
    summary: 'Takes an MCP server out of your configuration; a running gateway ends it at once.',
    words: '<name>',
    options: fileOption,
    examples: ['toolshelf remove github'],
    async run(input, terminal) {
      const [name, ...others] = input.words
      if (name === undefined || others.length > 0) throw new UsageError('name one server.')
      const file = fileIn(input, machine())
      await editFile(file, ({ text, names }) => {
        const [own, ...rivals] = names.includes(name) ? [name] : names.filter((one) => slugOf(one) === name)
        if (own !== undefined && rivals.length === 0) return removeServer(text, own)
        const known = names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`
        const near = didYouMean(name, names) || '.'
        throw new CommandError(`${file} has no server named ${JSON.stringify(name)}${near} ${known}`)
      })
      terminal.print(printable(`Removed ${name} from ${file}.`))
      return 0
    },
  }
}
