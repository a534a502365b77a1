// Keeps the declarations that users can reach: those of public doors, and what these take from the internal doors of our
// other packages. Nothing else of an internal door is declared, so nobody comes to depend on it.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const RELATIVE = /((?:from|import)\s*\(?\s*['"])(\.[^'"]+)\.tsx?(?=['"])/g
const NAMED = /(?:import|export) (?:type )?\{([^}]*)\} from ['"](@toolshelf\/[^'"]+)['"]/g
const INLINE = /import\(['"](@toolshelf\/[^'"]+)['"]\)\.(\w+)/g
const EXPORTS = /^export (?:type )?\{([^}]*)\} from ['"]([^'"]+)['"];?\n/gm

/** `packages` names each folder of declarations with its doors: `{ types, doors: { '@toolshelf/core/internal': 'internal' } }`. */
export function keepReachableTypes(packages) {
  const files = new Map(
    packages.flatMap(({ types, doors }) =>
      Object.entries(doors).map(([door, name]) => [door, join(types, `${name}.d.ts`)]),
    ),
  )
  const isInternal = (door) => door.includes('/internal')
  /** The names that are wanted of each internal door, and the files that are kept. */
  const wanted = new Map([...files.keys()].filter(isInternal).map((door) => [door, new Set()]))
  const kept = new Set()
  for (const [door, file] of files) if (!isInternal(door)) keep(file)
  for (const [door, names] of wanted) if (!kept.has(files.get(door))) writeDoor(files.get(door), names)
  for (const { types } of packages) removeOthers(types)

  function keep(file) {
    if (kept.has(file)) return
    kept.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, , path] of text.matchAll(RELATIVE)) keep(join(dirname(file), `${path}.d.ts`))
    for (const [, list, door] of text.matchAll(NAMED)) for (const name of namesIn(list)) want(door, name)
    for (const [, door, name] of text.matchAll(INLINE)) want(door, name)
    // The .js file, as users' own code names it: older compilers and other tools read nothing else.
    writeFileSync(file, text.replace(RELATIVE, '$1$2.js'))
  }

  function want(door, name) {
    const names = wanted.get(door)
    if (names === undefined || names.has(name)) return
    names.add(name)
    const source = sourcesOf(files.get(door)).get(name)
    if (source !== undefined) keep(source)
  }

  function writeDoor(file, names) {
    const sources = [...sourcesOf(file)].filter(([name]) => names.has(name))
    const lines = sources.map(([name, source]) => {
      const path = `./${source.slice(dirname(file).length + 1).replace(/\.d\.ts$/, '.js')}`
      return `export { ${name} } from '${path}';\n`
    })
    writeFileSync(file, lines.join('') || 'export {};\n')
    kept.add(file)
  }

  function removeOthers(folder) {
    if (!existsSync(folder)) return
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) removeOthers(path)
      else if (!kept.has(path)) rmSync(path)
    }
    if (readdirSync(folder).length === 0) rmSync(folder, { recursive: true })
  }
}

/** The files that a door takes its names from. */
function sourcesOf(door) {
  const statements = readFileSync(door, 'utf8').matchAll(EXPORTS)
  return new Map(
    [...statements].flatMap(([, list, path]) =>
      namesIn(list).map((name) => [name, join(dirname(door), path.replace(/\.tsx?$/, '.d.ts'))]),
    ),
  )
}

function namesIn(list) {
  const items = list.split(',').map((item) => item.trim().replace(/^type /, ''))
  return items.filter((item) => item !== '').map((item) => item.split(' as ')[0])
}
