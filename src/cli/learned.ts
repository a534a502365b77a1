// `toolshelf learned`: shows which searches led to which tools, and forgets them.
import { printable, table } from '../terminal/index.ts'
import { type Command, UsageError } from './command.ts'
import { forgetLearnedSearches, learnedFile, learnedUses } from './user-files/index.ts'

export const learnedCommand: Command = {
  name: 'learned',
  summary: 'Shows what tool search learned from your calls, or forgets it.',
  words: '[forget]',
  verbs: ['list', 'forget'],
  options: {
    json: { type: 'boolean', about: 'print {"file", "searches": [{"words", "server", "tool", "times"}]}' },
  },
  examples: ['toolshelf learned', 'toolshelf learned forget'],
  async run({ words, isSet }, terminal) {
    const [action = 'list', ...rest] = words
    if (rest.length > 0 || (action !== 'list' && action !== 'forget'))
      throw new UsageError(`unknown action "${words.join(' ')}"; use forget, or no action.`)
    const file = learnedFile()
    if (action === 'forget') {
      const count = forgetLearnedSearches(file)
      if (isSet('json')) terminal.print(JSON.stringify({ file, forgotten: count }))
      else if (count === undefined) terminal.print(printable(`Deleted ${file}, which was too large to read.`))
      else terminal.print(count === 0 ? 'Nothing was learned yet.' : `Forgot ${count} searches.`)
      return 0
    }
    const searches = learnedSearches(file)
    if (isSet('json')) terminal.print(JSON.stringify({ file, searches }))
    else if (searches.length === 0)
      terminal.print('Nothing was learned yet: a search that leads to a call is remembered.')
    else {
      const rows = searches
        .slice(0, MAX_SHOWN)
        .map(({ words, server, tool, times }) =>
          [words.join(' '), server, tool, String(times)].map(printable),
        )
      terminal.print(table(['search', 'server', 'tool called', 'times'], rows))
      if (searches.length > MAX_SHOWN)
        terminal.print(`… and ${searches.length - MAX_SHOWN} more, which --json lists.`)
      terminal.print(printable(`In ${file}. To start over: toolshelf learned forget`))
    }
    return 0
  },
}

const MAX_SHOWN = 40

type LearnedRow = {
  readonly words: readonly string[]
  readonly server: string
  readonly tool: string
  readonly times: number
}

/** Equal searches together, the newest first. */
function learnedSearches(file: string): LearnedRow[] {
  const found = new Map<string, LearnedRow>()
  for (const { words, server, tool } of learnedUses(file).toReversed()) {
    const key = JSON.stringify([[...words].sort(), server, tool])
    const known = found.get(key)
    found.set(key, { words, server, tool, times: (known?.times ?? 0) + 1 })
  }
  return [...found.values()]
}
