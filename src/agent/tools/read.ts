// The tool `Read`: returns a file's lines with their numbers, or an image.
import type { Content } from '../../core/index.ts'
import type { AgentTool } from '../types.ts'
import { decodeText, type Files } from './files.ts'
import { imageBlock } from './image.ts'

const MAX_LINES = 2000
const MAX_LINE_LENGTH = 2000
const MAX_CHARACTERS = 60_000

/** Creates the tool Read. */
export function readTool(files: Files): AgentTool {
  return {
    name: 'Read',
    description: `Reads a file and shows its lines with their numbers, at most ${MAX_LINES} at once; images are shown as images. Read a file before you change it.`,
    input_schema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file, from the working folder or absolute.' },
        offset: {
          type: 'integer',
          minimum: 1,
          description: 'The number of the first line to show; 1 if left out.',
        },
        limit: { type: 'integer', minimum: 1, maximum: MAX_LINES, description: 'How many lines to show.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    isReadOnly: true,
    // Read has pages of its own, so its results are never put on the shelf.
    resultBudget: 0,
    accesses: async ({ path }) => [await files.access(path, 'read')],
    run: ({ path, offset = 1, limit = MAX_LINES }) =>
      files.inTurn(async (): Promise<Content> => {
        const file = files.resolve(path)
        const bytes = await files.read(file)
        const image = imageBlock(bytes, files.shown(file))
        return image ? [image] : page(decodeText(bytes, files.shown(file)), Number(offset), Number(limit))
      }),
  }
}

function page(text: string, offset: number, limit: number): string {
  if (text === '') return '(The file is empty.)'
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  if (offset > lines.length)
    throw new Error(
      `The file has ${lines.length} lines, so there is no line ${offset}. Use a smaller offset.`,
    )
  const shown: string[] = []
  let size = 0
  for (const [index, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const numbered = `${offset + index}\t${cutLine(line.replace(/\r$/, ''))}`
    size += numbered.length + 1
    if (size > MAX_CHARACTERS && shown.length > 0) break
    shown.push(numbered)
  }
  const end = offset + shown.length - 1
  const isWhole = offset === 1 && end === lines.length
  const rest = end < lines.length ? ` Read on with offset ${end + 1}.` : ''
  return shown.join('\n') + (isWhole ? '' : `\n(Lines ${offset} to ${end} of ${lines.length}.${rest})`)
}

function cutLine(line: string): string {
  if (line.length <= MAX_LINE_LENGTH) return line
  return `${line.slice(0, MAX_LINE_LENGTH)}… (${line.length - MAX_LINE_LENGTH} more characters; see them with Bash, e.g. cut -c)`
}
