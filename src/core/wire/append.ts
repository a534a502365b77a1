// Any back-end: a loaded tool joins the end of the tools array and never moves; a note says what was loaded.
import { loadedNote } from '../notes.ts'
import { searchTool } from '../search-tool.ts'
import type { MakeWire } from './wire.ts'

export const append: MakeWire = (settings) => ({
  name: 'append',
  searchName: settings.searchTool,
  takesReferences: false,
  takesAdditions: false,
  declared: ({ loaded }) => loaded,
  declare: ({ immediate, loaded }) => [searchTool(settings, 'append'), ...immediate, ...loaded],
  answer: (id, tools, note) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: [
      { type: 'text', text: [recall(tools.map(({ name }) => name)), ...(note ? [note] : [])].join('\n') },
    ],
  }),
  unseen: () => [],
  reload: () => [],
  recall,
})

function recall(names: readonly string[]): string {
  return `${loadedNote(names, false)}\nThey are in your list of tools now.`
}
