// `defer_loading` in tools and `tool_reference` in results: the API expands a tool where its reference stands.
import { loadedOtherwise } from '../history.ts'
import { placeholder, searchTool } from '../search-tool.ts'
import { deferred, loadedEarlier, type MakeWire, searchAgain, type Wire } from './wire.ts'

export const reference: MakeWire = (settings) => {
  const wire: Wire = {
    name: 'reference',
    searchName: settings.searchTool,
    takesReferences: true,
    takesAdditions: false,
    declared: ({ loaded }) => loaded,
    declare: ({ immediate, loaded, unloaded }) => [
      searchTool(settings, 'reference'),
      ...immediate,
      deferred(placeholder),
      ...loaded.map(deferred),
      ...(settings.strategy === 'staged' ? unloaded().map(deferred) : []),
    ],
    answer: (id, tools, note) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: tools.map(({ name }) => ({ type: 'tool_reference', tool_name: name })),
      ...(note === undefined ? {} : { note }),
    }),
    unseen: (facts) => loadedOtherwise(facts, 'reference'),
    reload: (tools, id) => searchAgain(wire, settings.searchTool, tools, id),
    recall: loadedEarlier,
  }
  return wire
}
