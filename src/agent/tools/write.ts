// The tools `Write` and `Edit`. They never overwrite a file that was not read or has changed since.
import { fileChange } from '../../lib/index.ts'
import type { AgentTool, ToolInput } from '../types.ts'
import { closestMatch } from './closest-match.ts'
import { exists, type Files } from './files.ts'

/** Creates the tool Write. */
export function writeTool(files: Files): AgentTool {
  return {
    name: 'Write',
    description:
      'Writes a whole file and creates its folders. An existing file must have been read before; to change a part of it use Edit.',
    input_schema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file, from the working folder or absolute.' },
        content: { type: 'string', description: 'All of its text.' },
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    accesses: async ({ path }) => [await files.access(path, 'write')],
    async change({ path, content }) {
      const file = files.resolve(path)
      const before = (await exists(file)) ? await files.fresh(file) : undefined
      return fileChange(files.shown(file), before, String(content))
    },
    run: ({ path, content }, { report }) =>
      files.inTurn(async () => {
        const file = files.resolve(path)
        const isNew = !(await exists(file))
        const before = isNew ? undefined : await files.fresh(file)
        await files.write(file, String(content))
        report?.(fileChange(files.shown(file), before, String(content)))
        const lines = String(content).replace(/\n$/, '').split('\n').length
        return `${isNew ? 'Created' : 'Replaced'} ${files.shown(file)} (${lines} ${lines === 1 ? 'line' : 'lines'}).`
      }),
  }
}

/** Creates the tool Edit. */
export function editTool(files: Files): AgentTool {
  return {
    name: 'Edit',
    description:
      'Replaces text in a file that was read before. `old` must be in the file exactly once, spaces included and without line numbers; give enough lines around the place, or set `all`.',
    input_schema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file, from the working folder or absolute.' },
        old: { type: 'string', minLength: 1, description: 'The text to replace.' },
        new: { type: 'string', description: 'What takes its place.' },
        all: { type: 'boolean', description: 'Replaces every occurrence of `old`.' },
      },
      required: ['path', 'old', 'new'],
      additionalProperties: false,
    },
    accesses: async ({ path }) => [await files.access(path, 'write')],
    async change(input) {
      const { file, before, after } = await edited(input, files)
      return fileChange(files.shown(file), before, after)
    },
    run: (input, { report }) =>
      files.inTurn(async () => {
        const { file, before, after, places } = await edited(input, files)
        await files.write(file, after)
        report?.(fileChange(files.shown(file), before, after))
        return `Changed ${files.shown(file)} (${places.length === 1 ? 'line' : 'lines'} ${linesOf(before, places)}).`
      }),
  }
}

/** Returns the text before and after the edit. Throws an error that says why the edit is not possible. */
async function edited(input: ToolInput, files: Files) {
  const file = files.resolve(input.path)
  const before = await files.fresh(file)
  const [old, next] = inLineEndings(before, String(input.old), String(input.new))
  const places = placesOf(before, old, input.all === true ? old.length : 1)
  if (places.length === 0) throw new Error(notFound(before, old, files.shown(file)))
  if (old === next) throw new Error('`old` and `new` are the same, so there is nothing to change.')
  if (places.length > 1 && input.all !== true)
    throw new Error(
      `\`old\` is in ${files.shown(file)} ${places.length} times (lines ${linesOf(before, places)}). Give more of the text around the one you mean, or set all: true.`,
    )
  return { file, before, after: before.split(old).join(next), places }
}

/** Converts the line endings of an edit to CRLF if the file uses CRLF. */
function inLineEndings(text: string, old: string, next: string): [string, string] {
  if (!text.includes('\r\n') || old.includes('\r')) return [old, next]
  const isPlainThere = old.includes('\n') ? text.includes(old) : /(?<!\r)\n/.test(text)
  if (isPlainThere) return [old, next]
  return [old.replaceAll('\n', '\r\n'), next.replaceAll(/\r?\n/g, '\r\n')]
}

/** Finds the occurrences of a text; with a step of one, overlapping ones too, because the edit would be ambiguous. */
function placesOf(text: string, old: string, step: number): number[] {
  const places: number[] = []
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + step)) places.push(at)
  return places
}

const MAX_PLACES = 20

function linesOf(text: string, places: readonly number[]): string {
  const lines = places.slice(0, MAX_PLACES).map((place) => text.slice(0, place).split('\n').length)
  return lines.join(', ') + (places.length > MAX_PLACES ? ', …' : '')
}

function notFound(text: string, old: string, name: string): string {
  const near = closestMatch(text, old)
  const hint = near
    ? ` The nearest is at line ${near.line}:\n${near.text}\nCopy it exactly, spaces included.`
    : ' Nothing in the file is like it: read the file again.'
  return `\`old\` is not in ${name}.${hint}`
}
