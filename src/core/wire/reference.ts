// Implements the wire `reference`: `defer_loading` in tools and `tool_reference` in results, which the API expands in
// place.
// Implements S9, Q1, Q5, Q7.

import { loadedOtherwise, withRemark } from '../history/index.ts'
import { placeholder, searchTool } from './own-tools.ts'
import { loadedEarlier, type MakeWire, searchAgain, selectIt, type Wire, withDeferLoading } from './wire.ts'

/** Creates the wire `reference`. */
export const reference: MakeWire = (settings) => {
  const wire: Wire = {
    name: 'reference',
    searchName: settings.searchTool,
    callsByName: true,
    takesReferences: true,
    takesAdditions: false,
    declared: ({ loaded }) => loaded,
    declare: ({ immediate, loaded, unloaded }) => [
      searchTool(settings),
      ...immediate,
      withDeferLoading(placeholder),
      ...loaded.map(withDeferLoading),
      ...(settings.strategy === 'staged' ? unloaded().map(withDeferLoading) : []),
    ],
    answer: (id, tools, remark) => {
      const content = tools.map(({ name }) => ({ type: 'tool_reference' as const, tool_name: name }))
      return withRemark({ type: 'tool_result', tool_use_id: id, content }, remark)
    },
    unseen: (facts) => loadedOtherwise(facts, 'reference'),
    reload: (tools, id) => searchAgain(settings, tools, wire.answer(id, tools)),
    recall: loadedEarlier,
    howToLoad: (name) => selectIt(settings, name),
  }
  return wire
}
