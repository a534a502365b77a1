// Renders a definition that differs from the accepted one as readable text.
import { cut, hash, spellOutInvisible, toJson } from '../../lib/index.ts'
import type { ListedTool } from '../../mcp/index.ts'
import type { DefinitionChange } from '../../mcp/pins/index.ts'
import type { PinChange } from '../api.ts'
import { MAX_NAME_LENGTH } from './read-input.ts'

const MAX_TEXT_LENGTH = 40_000

/** Returns the change as the page shows it. */
export function pinChange(change: DefinitionChange, isHolding: boolean): PinChange {
  const { kind, name, before, after, isWhole } = change
  return {
    kind,
    name: shownName(name),
    before: isWhole ? readable(kind, before) : null,
    after: isWhole ? readable(kind, after) : null,
    isHeld: isHolding,
    version: hash(toJson([before, after])),
  }
}

/** A definition line by line; characters that do not show are spelled out. */
function readable(kind: PinChange['kind'], definition: ListedTool): string {
  const { description = '', inputSchema, name: _, ...rest } = definition
  const parts = [
    String(description),
    ...Object.entries({ ...rest, [kind === 'prompt' ? 'arguments' : 'inputSchema']: inputSchema }).flatMap(
      ([part, value]) => (value === undefined || value === null ? [] : [`${part}: ${printed(value)}`]),
    ),
  ]
  const lines = (kind === 'instructions' ? [String(description)] : parts).join('\n').split(/\r?\n/)
  return cut(lines.map(spellOutInvisible).join('\n'), MAX_TEXT_LENGTH)
}

function printed(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** Returns a name as the page shows it and sends it back. */
export function shownName(name: string): string {
  return cut(spellOutInvisible(name), MAX_NAME_LENGTH)
}
