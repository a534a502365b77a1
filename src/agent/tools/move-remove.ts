// The deferred tools `Move` and `Remove`. They overwrite nothing and never remove the working folder itself.
import { lstat, mkdir, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isWithin } from '../accesses.ts'
import type { AgentTool } from '../types.ts'
import { describeMissing, exists, type Files } from './files.ts'

/** Creates the tool Move. */
export function moveTool(files: Files): AgentTool {
  return {
    name: 'Move',
    description:
      'Moves or renames a file or folder, and creates the folders it needs. Never overwrites anything.',
    searchHint: 'rename move file folder mv',
    shouldDefer: true,
    input_schema: {
      type: 'object',
      properties: {
        from: { type: 'string', minLength: 1, description: 'What is moved.' },
        to: { type: 'string', minLength: 1, description: 'Its new path, name included.' },
      },
      required: ['from', 'to'],
      additionalProperties: false,
    },
    accesses: async ({ from, to }) => [
      await files.access(from, 'write', true),
      await files.access(to, 'write', true),
    ],
    run: (input) =>
      files.inTurn(async () => {
        const [from, to] = [files.resolve(input.from), files.resolve(input.to)]
        await movable(from, files)
        if (await exists(to)) throw new Error(`${files.shown(to)} exists already. Choose another name.`)
        if (isWithin(to, from)) throw new Error(`${files.shown(from)} cannot be moved into itself.`)
        await mkdir(dirname(to), { recursive: true })
        await rename(from, to)
        return `Moved ${files.shown(from)} to ${files.shown(to)}.`
      }),
  }
}

/** Creates the tool Remove. */
export function removeTool(files: Files): AgentTool {
  return {
    name: 'Remove',
    description: 'Deletes a file for good, or a folder with all it holds if `recursive` is true.',
    searchHint: 'delete remove file folder rm unlink',
    shouldDefer: true,
    input_schema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'What is deleted.' },
        recursive: { type: 'boolean', description: 'Needed for a folder.' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    accesses: async ({ path }) => [await files.access(path, 'write', true)],
    run: ({ path, recursive }) =>
      files.inTurn(async () => {
        const place = files.resolve(path)
        await movable(place, files)
        if ((await lstat(place)).isDirectory() && recursive !== true)
          throw new Error(
            `${files.shown(place)} is a folder. To delete it with all it holds, set recursive: true.`,
          )
        await rm(place, { recursive: recursive === true })
        return `Deleted ${files.shown(place)}.`
      }),
  }
}

/** Throws if the path does not exist, or is the working folder or a parent of it, also through links. */
async function movable(path: string, files: Files): Promise<void> {
  const folder = dirname(path)
  const place = join(await realpath(folder).catch(() => folder), basename(path))
  const own = await realpath(files.directory).catch(() => files.directory)
  if (isWithin(files.directory, path) || isWithin(own, place))
    throw new Error(`${path} holds the working folder, so it stays where it is.`)
  if (!(await exists(path))) throw new Error(await describeMissing(path, files.shown))
}
