// Lists the files below a folder, and compiles glob patterns.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { RE2JS } from 're2js'

/** Folders without hand-written files. */
const IGNORED = ['.git', 'node_modules']
const MAX_ENTRIES = 200_000

/** Listed files; `isCut` if there are more. */
export type Walked = { readonly files: readonly string[]; readonly isCut: boolean }

/** Lists paths relative to `root`, sorted by name in each folder; does not follow links to folders. */
export async function walkFiles(root: string, signal: AbortSignal, pattern = ''): Promise<Walked> {
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
