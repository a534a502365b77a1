// Implements the wire `addition`: loads tools with `tool_addition` in system messages, by reference to a deferred tool
// or by value.
// Implements Q5.
import { loadedNote, loadedOtherwise, referredNames } from '../history/index.ts'
import type { Block, PoolTool } from '../types.ts'
import { searchTool } from './own-tools.ts'
import { reference } from './reference.ts'
import { type MakeWire, withDeferLoading } from './wire.ts'

/** Creates the wire `addition`. */
export const addition: MakeWire = (settings, variant) => {
  const byReference = reference(settings, variant)
  const byValue = settings.additions === 'value'
  return {
    ...byReference,
    name: 'addition',
    takesAdditions: true,
    declare: (working) =>
      byValue
        ? [searchTool(settings), ...working.immediate, ...working.loaded.map(withDeferLoading)]
        : byReference.declare(working),
    declared: (facts) => (byValue ? referredNames(facts) : [...facts.loaded, ...referredNames(facts)]),
    answer: (id, tools, remark) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: written(tools, remark) }],
    }),
    unseen: (facts) => loadedOtherwise(facts, 'reference', 'addition', 'value'),
    reload: (tools) => [{ role: 'system', content: tools.map(byValue ? valueBlock : referenceBlock) }],
  }
}

function written(tools: readonly PoolTool[], remark: string | undefined): string {
  const names = tools.map(({ name }) => name)
  return [loadedNote(names), 'Their definitions follow.', ...(remark ? [remark] : [])].join('\n')
}

function referenceBlock({ name }: PoolTool): Block {
  return { type: 'tool_addition', tool: { type: 'tool_reference', name } }
}

function valueBlock({ definition }: PoolTool): Block {
  return { type: 'tool_addition', tool: { type: 'tool_definition', definition } }
}
