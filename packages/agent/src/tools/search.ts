// Tools that search files: Glob by name, Grep by content.
import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { RE2JS } from 're2js'
import { isWithin, linkTarget, realPathOf, resolvePath } from '../accesses.ts'
import type { AgentTool, ToolInput } from '../types.ts'
import { describeMissing, type Files, globMatcher, inputOf, isBinary, walkFiles } from './files.ts'

const MAX_FILES = 200

export function globTool(files: Files): AgentTool {
  return {
    name: 'Glob',
    description: `Finds files by a pattern of their path, such as **/*.ts or src/{a,b}/*.json; the newest come first, at most ${MAX_FILES}. A pattern without a slash fits names in every folder. Leaves out .git and node_modules unless the pattern names them.`,
    input_schema: inputOf(['pattern'], {
      pattern: { type: 'string', minLength: 1, description: 'The pattern.' },
      path: { type: 'string', description: 'The folder to look in; the working folder if left out.' },
    }),
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
const TOO_MANY = ' (There are too many files to look at all; give a folder as path.)'

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

const MAX_MATCHES = 200
const MAX_CHARACTERS = 40_000
const MAX_LINE_LENGTH = 400
const MAX_FILE_BYTES = 5_000_000

export function grepTool(files: Files): AgentTool {
  return {
    name: 'Grep',
    description: `Searches the text of files for a regular expression (RE2: no look-around, no back-references), line by line. Answers with path:line:text, at most ${MAX_MATCHES} matches. Leaves out binary files, files over 5 MB, .git and node_modules.`,
    input_schema: inputOf(['pattern'], {
      pattern: { type: 'string', minLength: 1, description: 'The regular expression.' },
      path: { type: 'string', description: 'The file or folder to search; the working folder if left out.' },
      glob: {
        type: 'string',
        minLength: 1,
        description: 'Only files whose path fits, such as *.ts or src/**/*.md.',
      },
      context: { type: 'integer', minimum: 0, maximum: 20, description: 'Lines to show around each match.' },
      ignoreCase: { type: 'boolean', description: 'Upper and lower case are the same.' },
    }),
    isReadOnly: true,
    accesses: async ({ path = '.' }) => [await files.access(path, 'read')],
    async run(
      { pattern, path = '.', glob, context = 0, ignoreCase = false },
      { signal, isHidden = () => false },
    ) {
      const expression = compile(String(pattern), ignoreCase === true)
      const place = files.resolve(path)
      const { folder, names, isCut } = await candidates(place, files, signal, glob)
      const real = await realPathOf(folder)
      const found: Findings = { lines: [], matches: 0, size: 0, skipped: 0, hidden: 0 }
      for (const name of names) {
        signal.throwIfAborted()
        const file = join(folder, name)
        const target = (await linkTarget(file)) ?? join(real, name)
        const isOutside = folder === place && !isWithin(target, real)
        // A symbolic link on the path must not reveal files that rules hide.
        if (isOutside || isHidden(file) || isHidden(target)) {
          found.hidden++
          continue
        }
        const text = await readTextFile(file, found)
        if (text !== undefined) searchText(text, files.shown(file), expression, Number(context), found)
        if (isFull(found)) break
      }
      return report(found, isCut)
    },
  }
}

function compile(pattern: string, ignoreCase: boolean): RE2JS {
  try {
    return RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (error) {
    const { message } = error as Error
    throw new Error(
      `"${pattern}" is not a valid RE2 regular expression: ${message}. Look-around and back-references are not supported; escape ( [ { . * + ? | with a backslash to match them literally.`,
    )
  }
}

async function candidates(place: string, files: Files, signal: AbortSignal, glob: unknown) {
  const found = await stat(place).catch(() => undefined)
  if (!found) throw new Error(await describeMissing(place, files.shown))
  if (!found.isDirectory()) return { folder: dirname(place), names: [basename(place)], isCut: false }
  const { files: all, isCut } = await walkFiles(place, signal, glob === undefined ? '' : String(glob))
  return { folder: place, names: glob === undefined ? all : all.filter(globMatcher(String(glob))), isCut }
}

type Findings = { readonly lines: string[]; matches: number; size: number; skipped: number; hidden: number }

function isFull({ matches, size }: Findings): boolean {
  return matches >= MAX_MATCHES || size >= MAX_CHARACTERS
}

/** Returns undefined for a binary file; counts files that cannot be read or are too large. */
async function readTextFile(file: string, found: Findings): Promise<string | undefined> {
  try {
    const about = await stat(file)
    if (!about.isFile()) return undefined
    if (about.size > MAX_FILE_BYTES) throw new Error('too large')
    const bytes = await readFile(file)
    return isBinary(bytes) ? undefined : bytes.toString('utf8')
  } catch {
    found.skipped++
    return undefined
  }
}

function searchText(text: string, name: string, expression: RE2JS, context: number, found: Findings): void {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  let shown = -1
  const show = (index: number, mark: ':' | '-') => {
    const line = `${name}${mark}${index + 1}${mark}${cutLine(lines[index] ?? '')}`
    found.lines.push(line)
    found.size += line.length + 1
    shown = index
  }
  for (const [index, line] of lines.entries()) {
    if (!expression.matcher(line).find()) continue
    if (isFull(found)) return
    const first = Math.max(shown + 1, index - context)
    if (context > 0 && found.lines.length > 0 && (shown === -1 || first > shown + 1)) found.lines.push('--')
    for (let before = first; before < index; before++) show(before, '-')
    if (shown < index) show(index, ':')
    else markMatch(found.lines, name, index)
    found.matches++
    const last = Math.min(lines.length - 1, index + context)
    for (let after = shown + 1; after <= last; after++) show(after, '-')
  }
}

/** Marks a line that was already shown as context as a match. */
function markMatch(lines: string[], name: string, index: number): void {
  const prefix = `${name}-${index + 1}-`
  const at = lines.findLastIndex((line) => line.startsWith(prefix))
  if (at >= 0) lines[at] = `${name}:${index + 1}:${lines[at]?.slice(prefix.length)}`
}

function cutLine(line: string): string {
  return line.length <= MAX_LINE_LENGTH
    ? line
    : `${line.slice(0, MAX_LINE_LENGTH)}… (${line.length} characters)`
}

function report(found: Findings, isCut: boolean): string {
  const notes = [
    ...(isFull(found)
      ? [`(Stopped after ${found.matches} matches; use a narrower pattern, path or glob.)`]
      : []),
    ...(found.hidden > 0
      ? [
          `(${found.hidden} files were left out: permission rules hide them, or they are links out of the folder.)`,
        ]
      : []),
    ...(found.skipped > 0 ? [`(${found.skipped} files were too large or could not be read.)`] : []),
    ...(isCut ? [TOO_MANY.trim()] : []),
  ]
  return [...(found.matches === 0 ? ['No line matches.'] : found.lines), ...notes].join('\n')
}
