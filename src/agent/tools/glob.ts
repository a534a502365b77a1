// The tool `Glob`: finds files by path pattern, newest first.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { realPathOf, resolvePath } from '../accesses.ts'
import type { AgentTool, ToolInput } from '../types.ts'
import { describeMissing, type Files } from './files.ts'
import { globMatcher, walkFiles } from './walk.ts'

const MAX_FILES = 200

/** Creates the tool Glob. */
export function globTool(files: Files): AgentTool {
  return {
    name: 'Glob',
    description: `Finds files by a pattern of their path, such as **/*.ts or src/{a,b}/*.json; the newest come first, at most ${MAX_FILES}. A pattern without a slash fits names in every folder. Leaves out .git and node_modules unless the pattern names them.`,
    input_schema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', minLength: 1, description: 'The pattern.' },
        path: { type: 'string', description: 'The folder to look in; the working folder if left out.' },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    isReadOnly: true,
    accesses: async (input) => [await files.access(folderOf(input, files).folder, 'read')],
    async run(input, { signal, isHidden = () => false }) {
      const { pattern } = input
      const { folder, rest } = folderOf(input, files)
      const found = await stat(folder).catch(() => undefined)
      if (!found?.isDirectory()) throw new Error(await describeMissing(folder, files.shown, 'folder'))
      const { files: all, isCut } = await walkFiles(folder, signal, String(pattern))
      const fits = globMatcher(rest)
      // A symbolic link on the path must not reveal files that rules hide.
      const real = await realPathOf(folder)
      const seen = all.filter(
        (name) => fits(name) && ![folder, real].some((one) => isHidden(join(one, name))),
      )
      const matches = await newestFirst(folder, seen)
      if (matches.length === 0)
        return `No file fits ${pattern} in ${placeOf(folder, files)}.${isCut ? TOO_MANY : ''}`
      const shown = matches.slice(0, MAX_FILES).map((name) => files.shown(join(folder, name)))
      const more = matches.length - shown.length
      const notes = [
        ...(more > 0 ? [`(${more} older ones are left out; use a narrower pattern or a path.)`] : []),
        ...(isCut ? [TOO_MANY.trim()] : []),
      ]
      return [...shown, ...notes].join('\n')
    },
  }
}

/** Returns the folder to search, and the pattern relative to it. */
function folderOf({ pattern, path = '.' }: ToolInput, files: Files): { folder: string; rest: string } {
  const { fixed, rest } = splitPattern(String(pattern))
  return { folder: resolvePath(files.resolve(path), fixed), rest }
}

function placeOf(folder: string, { directory, shown }: Files): string {
  return folder === directory ? 'the working folder' : shown(folder)
}

/** Note for the model that the listing of files was cut short. */
export const TOO_MANY = ' (There are too many files to look at all; give a folder as path.)'

/** Splits off the leading folders without wildcards, where the search can begin. */
function splitPattern(pattern: string): { fixed: string; rest: string } {
  const parts = pattern.split('/')
  const first = parts.findIndex((part) => /[*?[{]/.test(part))
  const split = Math.max(0, first === -1 ? parts.length - 1 : first)
  const fixed = parts.slice(0, split).join('/')
  const isAbsolute = pattern.startsWith('/')
  const rest = parts.slice(split).join('/')
  return {
    fixed: isAbsolute && fixed === '' ? '/' : fixed,
    rest: split > 0 && !rest.includes('/') ? `./${rest}` : rest,
  }
}

async function newestFirst(folder: string, names: readonly string[]): Promise<string[]> {
  const times = await Promise.all(
    names.map(async (name) => ({
      name,
      time: await stat(join(folder, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    })),
  )
  times.sort((one, other) => other.time - one.time || (one.name < other.name ? -1 : 1))
  return times.map(({ name }) => name)
}
