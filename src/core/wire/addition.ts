// `tool_addition` in system messages between the turns, by reference to a deferred tool or by value.
import { loadedOtherwise, referredNames } from '../history.ts'
import { loadedNote } from '../notes.ts'
import { searchTool } from '../search-tool.ts'
import type { Block, PoolTool } from '../types.ts'
import { reference } from './reference.ts'
import { deferred, type MakeWire } from './wire.ts'

export const addition: MakeWire = (settings, variant) => {
  const byReference = reference(settings, variant)
  const byValue = settings.additions === 'value'
  return {
    ...byReference,
    name: 'addition',
    takesAdditions: true,
    declare: (working) =>
      byValue
        ? [searchTool(settings, 'addition'), ...working.immediate, ...working.loaded.map(deferred)]
        : byReference.declare(working),
    declared: (facts) => (byValue ? referredNames(facts) : [...facts.loaded, ...referredNames(facts)]),
    answer: (id, tools, note) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: written(tools, note) }],
    }),
    unseen: (facts) => loadedOtherwise(facts, 'reference', 'addition', 'value'),
    reload: (tools) => [{ role: 'system', content: tools.map(byValue ? valueBlock : referenceBlock) }],
  }
}

function written(tools: readonly PoolTool[], note: string | undefined): string {
  const names = tools.map(({ name }) => name)
  return [loadedNote(names, false), 'Their definitions follow.', ...(note === undefined ? [] : [note])].join(
    '\n',
  )
}

function referenceBlock({ name }: PoolTool): Block {
  return { type: 'tool_addition', tool: { type: 'tool_reference', name } }
}

function valueBlock({ definition }: PoolTool): Block {
  return { type: 'tool_addition', tool: { type: 'tool_definition', definition } }
}
