// Keeps of the compiler's declarations what users can reach from public doors, name by name, also through the internal doors of
// our other packages. The rest is not declared: it would be a tenth more to install, and somebody would come to depend on it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where a statement begins, with the comment in front of it; what stands between two belongs to the first. */
const START = /^(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?(?:export|import|declare|type|interface)\b/gm
const LIST = /^(import|export)( type)? \{([^}]*)\}(?: from ['"]([^'"]+)['"])?;?\s*$/
const DECLARED = /^(?:export )?(?:declare )?(?:abstract )?(?:type|interface|function|const|class|enum) (\w+)/
const INLINE = /import\(['"]([^'"]+)['"]\)\.(\w+)/g
const COMMENT = /\/\*[\s\S]*?\*\//g

/** `packages` names each folder of declarations with its doors: `{ types, doors: { '@toolshelf/core/internal': 'internal' } }`. */
export function keepReachableTypes(packages) {
  const doors = new Map(
    packages.flatMap(({ types, doors }) =>
      Object.entries(doors).map(([door, name]) => [door, join(types, `${name}.d.ts`)]),
    ),
  )
  const modules = new Map()
  for (const [door, path] of doors) {
    const { exported } = moduleAt(path)
    if (!door.includes('/internal')) for (const name of exported.keys()) want(path, name)
  }
  for (const { types } of packages) rmSync(types, { recursive: true, force: true })
  for (const [path, module] of modules) {
    const text = textOf(module)
    if (text === '' && ![...doors.values()].includes(path)) continue
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text || 'export {};\n')
  }

  function moduleAt(path) {
    if (!modules.has(path)) modules.set(path, readModule(readFileSync(path, 'utf8')))
    return modules.get(path)
  }

  function want(path, name) {
    const module = moduleAt(path)
    const { from, original, parts } = module.exported.get(name) ?? module.local.get(name) ?? { parts: [] }
    if (module.wanted.has(name)) return
    module.wanted.add(name)
    if (from !== undefined) return wantFrom(path, from, original)
    for (const text of parts) {
      const code = text.replace(COMMENT, '')
      for (const [, spec, name] of code.matchAll(INLINE)) wantFrom(path, spec, name)
      for (const [word] of code.matchAll(/\w+/g)) if (module.local.has(word)) want(path, word)
    }
  }

  function wantFrom(path, spec, name) {
    const target = spec.startsWith('.')
      ? join(dirname(path), spec.replace(/\.tsx?$/, '.d.ts'))
      : doors.get(spec)
    if (target !== undefined) want(target, name)
  }
}

/** A module's statements, and where the names come from that it exports, and those that it has itself. */
function readModule(text) {
  const starts = [...text.matchAll(START)].map(({ index }) => index)
  const statements = starts.map((start, index) => text.slice(start, starts[index + 1]))
  const [exported, local, listed] = [new Map(), new Map(), new Set()]
  for (const statement of statements) {
    const code = statement.replace(COMMENT, '').trimStart()
    const [, verb, , list = '', from] = LIST.exec(code) ?? []
    for (const { name, original } of namesIn(list))
      if (from === undefined) listed.add(name)
      else (verb === 'export' ? exported : local).set(name, { from, original })
    const [, name] = DECLARED.exec(code) ?? []
    if (name === undefined) continue
    const declaration = local.get(name) ?? { parts: [] }
    declaration.parts.push(statement)
    local.set(name, declaration)
    if (code.startsWith('export')) exported.set(name, declaration)
  }
  for (const name of listed) exported.set(name, local.get(name))
  return { statements, exported, local, wanted: new Set() }
}

/** What is wanted of a module, in its order. Paths name the .js file, as users' own code does: older compilers read nothing else. */
function textOf({ statements, wanted }) {
  const kept = statements.map((statement) => {
    const code = statement.replace(COMMENT, '').trimStart()
    const [, verb, type = '', list, from] = LIST.exec(code) ?? []
    if (verb === undefined) return wanted.has(DECLARED.exec(code)?.[1]) ? statement : ''
    const items = namesIn(list).flatMap(({ item, name }) => (wanted.has(name) ? [item] : []))
    const source = from === undefined ? '' : ` from '${from}'`
    return items.length === 0 ? '' : `${verb}${type} { ${items.join(', ')} }${source};\n`
  })
  return kept.join('').replace(/((?:from |import\()['"]\.[^'"]+)\.tsx?(?=['"])/g, '$1.js')
}

function namesIn(list) {
  const items = list.split(',').map((item) => item.trim())
  return items
    .filter((item) => item !== '')
    .map((item) => {
      const [original, name = original] = item.replace(/^type /, '').split(' as ')
      return { item, original, name }
    })
}
