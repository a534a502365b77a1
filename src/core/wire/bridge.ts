// Implements the wire `bridge`: two constant tools, search and call, for back-ends whose cache a growing tools array
// would break.
// Implements Q5.

import { describedNote, loadedOtherwise } from '../history/index.ts'
import type { Settings } from '../options.ts'
import { charactersFor } from '../tokens.ts'
import { fitTools } from '../tools/index.ts'
import type { PoolTool } from '../types.ts'
import { callTool, searchTool } from './own-tools.ts'
import { loadedEarlier, type MakeWire, searchAgain, selectIt, type Wire } from './wire.ts'

/** Creates the wire `bridge`. */
export const bridge: MakeWire = (settings) => {
  const wire: Wire = {
    name: 'bridge',
    searchName: settings.searchTool,
    callsByName: false,
    takesReferences: false,
    takesAdditions: false,
    declared: ({ loaded }) => loaded,
    declare: ({ immediate }) => [searchTool(settings, outcome(settings)), callTool(settings), ...immediate],
    answer: (id, tools, remark, definitions = tools.map(({ json }) => json)) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: written(settings, tools, definitions, remark) }],
    }),
    unseen: (facts) => loadedOtherwise(facts, 'text'),
    reload: (tools, id) => {
      const budget = charactersFor(settings.answerTokens)
      const { whole, text } = fitTools(tools, budget, selectIt(settings, '<name>'))
      const definitions = whole.map(({ json }) => json)
      const shown = { type: 'text' as const, text: written(settings, tools, definitions, text) }
      return searchAgain(settings, tools, { type: 'tool_result', tool_use_id: id, content: [shown] })
    },
    recall: loadedEarlier,
    howToLoad: (name) => selectIt(settings, name),
  }
  return wire
}

/** Writes the answer of a search. All of `tools` count as loaded; the remark describes those without a definition. */
function written(
  settings: Settings,
  tools: readonly PoolTool[],
  definitions: readonly string[],
  remark: string | undefined,
): string {
  const note = describedNote(tools.map(({ name }) => name))
  const isCompact = definitions.some((text) => !text.startsWith('{'))
  const about = isCompact
    ? ` ("?" marks what may be left out; ${selectIt(settings, '<name>')} for one whole)`
    : ''
  return [
    note,
    `Call them with ${settings.callTool}. Their definitions${about}:`,
    ...definitions,
    ...(remark ? [remark] : []),
  ].join('\n')
}

function outcome({ callTool }: Settings): string {
  return `The answer holds the definitions of the tools it found. Call one with ${callTool}, never by its own name.`
}
