// Implements the wire `append`, for any back-end: adds loaded tools at the end of the tools array; a note lists what was
// loaded.
// Implements Q5.
import { loadedNote } from '../history/index.ts'
import { searchTool } from './own-tools.ts'
import { type MakeWire, selectIt } from './wire.ts'

/** Creates the wire `append`. */
export const append: MakeWire = (settings) => ({
  name: 'append',
  searchName: settings.searchTool,
  callsByName: true,
  takesReferences: false,
  takesAdditions: false,
  declared: ({ loaded }) => loaded,
  declare: ({ immediate, loaded }) => [searchTool(settings), ...immediate, ...loaded],
  answer: (id, tools, remark) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: [
      { type: 'text', text: [recall(tools.map(({ name }) => name)), ...(remark ? [remark] : [])].join('\n') },
    ],
  }),
  unseen: () => [],
  reload: () => [],
  recall,
  howToLoad: (name) => selectIt(settings, name),
})

function recall(names: readonly string[]): string {
  return `${loadedNote(names)}\nThey are in your list of tools now.`
}
