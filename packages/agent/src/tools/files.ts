// Tools for files: Read, Write, Edit, Move and Remove, and the walk through folders that the searching tools share.
import { isUtf8 } from 'node:buffer'
import { createHash, randomUUID } from 'node:crypto'
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type Content, closestNames, type Fields, fileChange } from '@toolshelf/core/internal'
import { RE2JS } from 're2js'
import { type Access, accessTo, isWithin, resolvePath } from '../accesses.ts'
import type { AgentTool, ToolInput } from '../types.ts'

/** Folders without hand-written files. */
const IGNORED = ['.git', 'node_modules']
const MAX_ENTRIES = 200_000

/**
 * Lists paths relative to `root`, sorted by name in each folder; does not follow links to folders. `isCut` if there are
 * more.
 */
export async function walkFiles(root: string, signal: AbortSignal, pattern = '') {
  const ignored = new Set(IGNORED.filter((name) => !pattern.includes(name)))
  const files: string[] = []
  const folders = ['']
  let entries = 0
  while (folders.length > 0 && entries <= MAX_ENTRIES) {
    signal.throwIfAborted()
    const folder = folders.pop() ?? ''
    // Unreadable folders are skipped.
    const found = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
    found.sort((one, other) => (one.name < other.name ? -1 : 1))
    entries += found.length
    for (const entry of found.toReversed())
      if (entry.isDirectory() && !ignored.has(entry.name)) folders.push(join(folder, entry.name))
    for (const entry of found) if (!entry.isDirectory()) files.push(join(folder, entry.name))
  }
  return { files, isCut: entries > MAX_ENTRIES }
}

/**
 * Compiles a glob pattern with `*`, `?`, `[…]`, `{a,b}`, and `**` for any folders. A pattern without a slash matches
 * names in every folder.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  const whole = pattern.includes('/') ? pattern.replace(/^\.?\//, '') : `**/${pattern}`
  const compiled = RE2JS.compile(`^${globExpression(whole)}$`)
  return (path) => compiled.matches(path.replaceAll('\\', '/'))
}

const TOKENS = /\*\*\/|\*\*|\*|\?|\[[!^]?[^\]/]+\]|[{},]|[^*?[{},]+|\[/g

/** Converts a glob pattern to a regular expression. */
export function globExpression(glob: string): string {
  let depth = 0
  const parts = (glob.match(TOKENS) ?? []).map((token) => {
    if (token === '**/') return '(?:[^/]+/)*'
    if (token === '**') return '.*'
    if (token === '*') return '[^/]*'
    if (token === '?') return '[^/]'
    if (token.startsWith('[') && token.length > 1)
      return `[${token.slice(1, -1).replace(/^!/, '^').replace(/[\\[]/g, '\\$&')}]`
    if (token === '{') depth++
    if (token === '{') return '(?:'
    if (token === ',' && depth > 0) return '|'
    if (token === '}' && depth > 0) {
      depth--
      return ')'
    }
    return RE2JS.quote(token)
  })
  return parts.join('') + ')'.repeat(depth)
}

/** The file access that all tools of a session share. */
export type Files = ReturnType<typeof createFiles>

const MAX_FILE_BYTES = 50_000_000

/** Creates file access relative to a working folder. */
export function createFiles(directory: string) {
  const read = new Map<string, string>()
  let last: Promise<unknown> = Promise.resolve()
  const shown = (path: string) => {
    if (path === directory) return '.'
    return isWithin(path, directory) ? relative(directory, path) : path
  }
  const load = async (path: string) => {
    const { size } = await regularFile(path, shown)
    if (size > MAX_FILE_BYTES)
      throw new Error(
        `${shown(path)} has ${size} bytes, too many to read at once. Use Grep, or Bash with head.`,
      )
    return readFile(path)
  }
  return {
    directory,
    resolve: (path: unknown) => resolvePath(directory, String(path)),
    async access(path: unknown, kind: Access['kind'], isEntry?: true) {
      const found = await stat(resolvePath(directory, String(path))).catch(() => undefined)
      const isRecursive = found?.isDirectory() ?? false
      return accessTo(directory, String(path), kind, { isRecursive, ...(isEntry ? { isEntry } : {}) })
    },
    /** A path for display, relative to the working folder. */
    shown,
    /** Reads a regular file and marks it as read; throws an explanation for anything else. */
    async read(path: string) {
      const bytes = await load(path)
      read.set(path, printOf(bytes))
      return bytes
    },
    /** The text of a file that was read and has not changed since; throws otherwise. */
    async fresh(path: string) {
      const bytes = await load(path)
      const known = read.get(path)
      if (known === undefined)
        throw new Error(`${shown(path)} exists and was not read in this session. Read it first.`)
      if (known !== printOf(bytes))
        throw new Error(
          `${shown(path)} has changed since it was read. Read it again, then repeat the change.`,
        )
      return decodeText(bytes, shown(path))
    },
    async write(path: string, text: string) {
      await mkdir(dirname(path), { recursive: true })
      await replaceFile(path, text)
      read.set(path, printOf(Buffer.from(text)))
    },
    /** Runs one change at a time: calls run in parallel, and two edits of a file must not undo each other. */
    inTurn<Result>(work: () => Promise<Result>) {
      const turn = last.then(work)
      last = turn.catch(() => {})
      return turn
    },
  }
}

/** Returns whether the path exists, even as a broken link. */
async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

/** Decodes UTF-8 text; throws for binary content. */
function decodeText(bytes: Buffer, name: string): string {
  if (isBinary(bytes))
    throw new Error(
      `${name} is not text in UTF-8 (${bytes.length} bytes). Look at it with Bash, e.g. file or xxd.`,
    )
  return bytes.toString('utf8')
}

const PROBE = 8192

/** Returns whether a content is not UTF-8 text. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, PROBE).includes(0) || !isUtf8(bytes)
}

function printOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64')
}

async function regularFile(path: string, shown: (path: string) => string): Promise<{ size: number }> {
  const found = await stat(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    throw new Error(await describeMissing(path, shown))
  })
  if (found.isDirectory()) throw new Error(await listing(path, shown))
  if (!found.isFile()) throw new Error(`${shown(path)} is neither a file nor a folder and cannot be read.`)
  return found
}

/** Describes a missing file: similar names, or the missing folder. */
export async function describeMissing(
  path: string,
  shown: (path: string) => string,
  kind: 'file' | 'folder' = 'file',
): Promise<string> {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => undefined)
  if (!names) {
    const why = folder === path ? '' : ` ${shown(folder)} is not a folder.`
    return `There is no ${kind} ${shown(path)}.${why} Find it with Glob.`
  }
  const near = closestNames(basename(path), names).map((name) => shown(resolve(folder, name)))
  return `There is no ${kind} ${shown(path)}.${near.length > 0 ? ` Nearest: ${near.join(', ')}.` : ' Find it with Glob.'}`
}

const MAX_LISTED = 100

async function listing(path: string, shown: (path: string) => string): Promise<string> {
  const entries = (await readdir(path, { withFileTypes: true }))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
  const rest = entries.length - MAX_LISTED
  const more = rest > 0 ? `\n(${rest} more; list them with Glob)` : ''
  return `${shown(path)} is a folder. It holds:\n${entries.slice(0, MAX_LISTED).join('\n')}${more}`
}

/** Replaces a file atomically; keeps its mode and links to it. */
async function replaceFile(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const mode = await stat(target).then(
    (found) => found.mode,
    () => undefined,
  )
  const draft = join(dirname(target), `.${randomUUID()}.draft`)
  try {
    await writeFile(draft, text, mode === undefined ? {} : { mode })
    // The umask may have removed permissions that the old file had.
    if (mode !== undefined) await chmod(draft, mode)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

const MAX_LINES = 2000
const MAX_LINE_LENGTH = 2000
const MAX_CHARACTERS = 60_000

const FILE_PATH = {
  type: 'string',
  minLength: 1,
  description: 'The file, from the working folder or absolute.',
}

/** Returns the schema of an input that has only these fields. */
export function inputOf(required: readonly string[], properties: Fields): Fields {
  return { type: 'object', properties, required, additionalProperties: false }
}

export function readTool(files: Files): AgentTool {
  return {
    name: 'Read',
    description: `Reads a file and shows its lines with their numbers, at most ${MAX_LINES} at once; images are shown as images. Read a file before you change it.`,
    input_schema: inputOf(['path'], {
      path: FILE_PATH,
      offset: {
        type: 'integer',
        minimum: 1,
        description: 'The number of the first line to show; 1 if left out.',
      },
      limit: { type: 'integer', minimum: 1, maximum: MAX_LINES, description: 'How many lines to show.' },
    }),
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

/** The API's limit, in bytes before base64 encoding. */
const MAX_IMAGE_BYTES = 3_750_000

const STARTS: readonly (readonly [string, number, string])[] = [
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
]

/** Returns an image block; undefined if the bytes are not an image. Throws if it is too large. */
export function imageBlock(bytes: Buffer, name: string): object | undefined {
  const type = STARTS.find(([, at, start]) => bytes.toString('latin1', at, at + start.length) === start)?.[0]
  // Text may begin like an image, and the API refuses a request with an invalid image.
  if (type === undefined || !isBinary(bytes)) return undefined
  if (bytes.length > MAX_IMAGE_BYTES)
    throw new Error(
      `${name} is an image of ${bytes.length} bytes, more than can be shown. Make it smaller first.`,
    )
  return { type: 'image', source: { type: 'base64', media_type: type, data: bytes.toString('base64') } }
}

const MAX_SHOWN = 20

/** Returns the part of the text that is most similar, and its first line; undefined if nothing is similar. */
function closestMatch(text: string, wanted: string) {
  const lines = text.split('\n')
  const wantedLines = wanted.replace(/^\n+|\n+$/g, '').split('\n')
  const scores = scoresOf(lines, wantedLines)
  const best = scores.reduce((found, score, start) => (score > (scores[found] ?? 0) ? start : found), 0)
  if ((scores[best] ?? 0) < 1) return undefined
  const shown = lines.slice(best, best + Math.min(wantedLines.length, MAX_SHOWN))
  return { line: best + 1, text: shown.map((line) => line.replace(/\r$/, '')).join('\n') }
}

/** Scores each line by how many wanted lines follow it in order: 2 for the same words, 1 for most of them. */
function scoresOf(lines: readonly string[], wantedLines: readonly string[]): number[] {
  const words = lines.map(wordsIn)
  const wanted = wantedLines.slice(0, MAX_SHOWN).map(wordsIn)
  return words.map((_, start) =>
    wanted.reduce((sum, line, offset) => sum + alike(line, words[start + offset] ?? EMPTY), 0),
  )
}

const EMPTY: ReadonlySet<string> = new Set()

function wordsIn(line: string): ReadonlySet<string> {
  return new Set(line.match(/[\p{L}\p{N}_]+/gu))
}

function alike(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0) return 0
  const shared = [...one].filter((word) => other.has(word)).length
  const share = (2 * shared) / (one.size + other.size)
  return share === 1 ? 2 : share > 0.5 ? 1 : 0
}

export function writeTool(files: Files): AgentTool {
  return {
    name: 'Write',
    description:
      'Writes a whole file and creates its folders. An existing file must have been read before; to change a part of it use Edit.',
    input_schema: inputOf(['path', 'content'], {
      path: FILE_PATH,
      content: { type: 'string', description: 'All of its text.' },
    }),
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

export function editTool(files: Files): AgentTool {
  return {
    name: 'Edit',
    description:
      'Replaces text in a file that was read before. `old` must be in the file exactly once, spaces included and without line numbers; give enough lines around the place, or set `all`.',
    input_schema: inputOf(['path', 'old', 'new'], {
      path: FILE_PATH,
      old: { type: 'string', minLength: 1, description: 'The text to replace.' },
      new: { type: 'string', description: 'What takes its place.' },
      all: { type: 'boolean', description: 'Replaces every occurrence of `old`.' },
    }),
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

export function moveTool(files: Files): AgentTool {
  return {
    name: 'Move',
    description:
      'Moves or renames a file or folder, and creates the folders it needs. Never overwrites anything.',
    searchHint: 'rename move file folder mv',
    shouldDefer: true,
    input_schema: inputOf(['from', 'to'], {
      from: { type: 'string', minLength: 1, description: 'What is moved.' },
      to: { type: 'string', minLength: 1, description: 'Its new path, name included.' },
    }),
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

export function removeTool(files: Files): AgentTool {
  return {
    name: 'Remove',
    description: 'Deletes a file for good, or a folder with all it holds if `recursive` is true.',
    searchHint: 'delete remove file folder rm unlink',
    shouldDefer: true,
    input_schema: inputOf(['path'], {
      path: { type: 'string', minLength: 1, description: 'What is deleted.' },
      recursive: { type: 'boolean', description: 'Needed for a folder.' },
    }),
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
