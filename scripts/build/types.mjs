// Keeps the declaration files that the library's entries refer to, and removes those of the application.
import { readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const SPECIFIER = /((?:from|import)\s*\(?\s*['"])(\.[^'"]+)\.tsx?(?=['"])/g

export async function keepReachableTypes({ dist, entries }) {
  const reached = new Set()
  await Promise.all(entries.map((entry) => keep(join(dist, `${entry}.d.ts`), reached)))
  const all = await readdir(dist, { recursive: true, withFileTypes: true })
  const others = all
    .filter((entry) => entry.isFile() && entry.name.endsWith('.d.ts'))
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !reached.has(file))
  await Promise.all(others.map((file) => rm(file)))
  const folders = all
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
  for (const folder of folders.sort((a, b) => b.length - a.length)) await rmdir(folder).catch(() => {})
}

/** Imports name the .js file, as users' own code does: older compilers and other tools read nothing else. */
async function keep(file, reached) {
  if (reached.has(file)) return
  reached.add(file)
  const text = await readFile(file, 'utf8')
  const imported = [...text.matchAll(SPECIFIER)].map(([, , path]) => join(dirname(file), `${path}.d.ts`))
  await writeFile(file, text.replace(SPECIFIER, '$1$2.js'))
  await Promise.all(imported.map((one) => keep(one, reached)))
}
