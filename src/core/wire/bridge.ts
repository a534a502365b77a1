// Back-ends whose prompt cache a growing tools array would break: two constant tools, search and call.
import { loadedOtherwise } from '../history.ts'
import { loadedNote } from '../notes.ts'
import { callTool, searchTool } from '../search-tool.ts'
import type { PoolTool } from '../types.ts'
import { loadedEarlier, type MakeWire, searchAgain, type Wire } from './wire.ts'

export const bridge: MakeWire = (settings) => {
  const wire: Wire = {
    name: 'bridge',
    searchName: settings.searchTool,
    takesReferences: false,
    takesAdditions: false,
    declared: ({ loaded }) => loaded,
    declare: ({ immediate }) => [searchTool(settings, 'bridge'), callTool(settings), ...immediate],
    answer: (id, tools, note) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [
        { type: 'text', text: [written(tools, settings.callTool), ...(note ? [note] : [])].join('\n') },
      ],
    }),
    unseen: (facts) => loadedOtherwise(facts, 'text'),
    reload: (tools, id) => searchAgain(wire, settings.searchTool, tools, id),
    recall: loadedEarlier,
  }
  return wire
}

function written(tools: readonly PoolTool[], callName: string): string {
  const note = loadedNote(
    tools.map(({ name }) => name),
    true,
  )
  return [note, `Call them with ${callName}. Their definitions:`, ...tools.map(({ json }) => json)].join('\n')
}
