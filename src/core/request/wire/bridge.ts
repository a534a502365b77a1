// Back-ends whose prompt cache a growing tools array would break: two constant tools, search and call.

import { loadedOtherwise } from '../../history/fold.ts'
import { describedNote } from '../../history/notes.ts'
import type { Settings } from '../../options.ts'
import type { PoolTool } from '../../types.ts'
import { callTool, searchTool } from '../search-tool.ts'
import { loadedEarlier, type MakeWire, searchAgain, selectIt, type Wire } from './wire.ts'

export const bridge: MakeWire = (settings) => {
  const wire: Wire = {
    name: 'bridge',
    searchName: settings.searchTool,
    callsByName: false,
    takesReferences: false,
    takesAdditions: false,
    declared: ({ loaded }) => loaded,
    declare: ({ immediate }) => [searchTool(settings, outcome(settings)), callTool(settings), ...immediate],
    answer: (id, tools, remark) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [
        { type: 'text', text: [written(tools, settings.callTool), ...(remark ? [remark] : [])].join('\n') },
      ],
    }),
    unseen: (facts) => loadedOtherwise(facts, 'text'),
    reload: (tools, id) => searchAgain(wire, settings, tools, id),
    recall: loadedEarlier,
    howToLoad: (name) => selectIt(settings, name),
  }
  return wire
}

function written(tools: readonly PoolTool[], callName: string): string {
  const note = describedNote(tools.map(({ name }) => name))
  return [note, `Call them with ${callName}. Their definitions:`, ...tools.map(({ json }) => json)].join('\n')
}

function outcome({ callTool }: Settings): string {
  return `The answer holds the definitions of the tools it found. Call one with ${callTool}, never by its own name.`
}
