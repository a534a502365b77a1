// Reads src/ as text, for the tests that check its shape.
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const rootUrl = new URL('../../', import.meta.url)

export type SourceFile = { path: string; text: string }
export type Import = { spec: string; target: string | undefined; typeOnly: boolean; isDynamic: boolean }

/** Every TypeScript file in a folder, by its path below that folder with forward slashes. */
export function readSource(folder = 'src'): SourceFile[] {
  const folderUrl = new URL(`${folder}/`, rootUrl)
  return readdirSync(fileURLToPath(folderUrl), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path) && !path.includes('node_modules/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(new URL(path, folderUrl), 'utf8') }))
}

const comment = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/y
const quoted = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y
// A slash starts a regular expression only where a value may start.
const regex =
  /(?<=(?:^|[=(,:[!&|?{};>\n]|\breturn)[ \t]*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y
/** What begins none of these. */
const plain = /[^'"`/{}]+/y
const templateText = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/y

/** Drops comments, regular expressions and template text; keeps the code in `${…}`. */
export function stripSource(text: string, strings: 'keep' | 'drop'): string {
  let out = ''
  let at = 0
  const open: ('{' | '${')[] = []
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const takeTemplate = () => {
    take(templateText)
    if (text.startsWith('${', at)) open.push('${')
    at += text.startsWith('${', at) ? 2 : 1
    out += ' '
  }
  while (at < text.length) {
    out += take(plain) ?? ''
    if (at >= text.length) break
    const string = take(quoted)
    if (string !== undefined) {
      out += strings === 'keep' ? string : "''"
    } else if (take(comment) !== undefined || take(regex) !== undefined) {
      out += ' '
    } else {
      const char = text[at++]
      if (char === '{') open.push('{')
      if (char === '`' || (char === '}' && open.pop() === '${')) takeTemplate()
      else out += char
    }
  }
  return out
}

const staticImport =
  /\b(?:import|export)\s+(type\s+)?(?:(?:(?!\b(?:import|export)\b)[\w*{}\s,$])+?\s*\bfrom\s*)?['"]([^'"]+)['"]/g
const dynamicImport = /\bimport\s*\(\s*['"]([^'"]+)['"]/g

/** What a file imports or re-exports; `target` is the path below src/, undefined for a package. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const code = stripSource(text, 'keep')
  const found = [
    ...[...code.matchAll(staticImport)].map((m) => ({
      spec: m[2]!,
      typeOnly: m[1] !== undefined,
      isDynamic: false,
    })),
    ...[...code.matchAll(dynamicImport)].map((m) => ({ spec: m[1]!, typeOnly: false, isDynamic: true })),
  ]
  return found.map(({ spec, ...how }) => ({
    spec,
    ...how,
    target: spec.startsWith('.') ? posix.join(posix.dirname(path), spec) : undefined,
  }))
}

const declaration =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|type|interface|class|enum) (\w+)/gm
const destructured = /^export const \{([^}]*)\}/gm
const listed = /^export (?:type )?\{([^}]*)\}(?!\s*from)/gm
const imported = /^import (?:type )?\{([^}]*)\}/gm

/** The last name of each part of a list in braces: `b` of `a as b`, of `a: b` and of `type b`. */
function namesIn(list: string): string[] {
  const names = list.split(',').map(
    (part) =>
      part
        .trim()
        .split(/\s*:\s*|\s+/)
        .at(-1) ?? '',
  )
  return names.filter((name) => name !== '')
}

/** The names that a file declares and exports; what it imports and passes on is not among them. */
export function declaredExports({ text }: Pick<SourceFile, 'text'>): string[] {
  const code = stripSource(text, 'keep')
  const listsOf = (pattern: RegExp) => [...code.matchAll(pattern)].flatMap(([, list]) => namesIn(list!))
  const foreign = new Set(listsOf(imported))
  return [
    ...[...code.matchAll(declaration)].map(([, name]) => name!),
    ...listsOf(destructured),
    ...listsOf(listed).filter((name) => !foreign.has(name)),
  ]
}

/** One cycle as a path that ends where it starts, or undefined. */
export function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>()
  const visit = (node: string, trail: string[]): string[] | undefined => {
    if (trail.includes(node)) return [...trail.slice(trail.indexOf(node)), node]
    if (done.has(node)) return undefined
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...trail, node])
      if (cycle) return cycle
    }
    done.add(node)
    return undefined
  }
  for (const node of graph.keys()) {
    const cycle = visit(node, [])
    if (cycle) return cycle
  }
  return undefined
}
