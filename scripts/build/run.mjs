// `npm run build`: bundles src/ with every package it imports into dist/, with types for the library's entries and the
// licences of what was bundled.
import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bundle } from './bundle.mjs'
import { writeLicences } from './licences.mjs'
import { bundlePage } from './page.mjs'
import { keepReachableTypes } from './types.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const dist = join(root, 'dist')
const tsc = join(root, 'node_modules/typescript/bin/tsc')

/** The library's entries, as paths without extension below src/ and dist/. */
const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const library = Object.values(exports).flatMap(({ default: file }) =>
  file === undefined ? [] : [file.replace(/^\.\/dist\/(.*)\.js$/, '$1')],
)

await rm(dist, { recursive: true, force: true })
const [program, page] = await Promise.all([
  bundle({ root, dist, entries: [...library, 'cli/main'], workers: ['sandbox/worker'] }),
  bundlePage(),
  emitTypes(),
])
await copyFile(
  createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm'),
  join(dist, 'sandbox/quickjs.wasm'),
)
// npm sets this at install; a link that npx made before a build keeps the mode of the file.
await chmod(join(dist, 'cli/main.js'), 0o755)
await mkdir(join(dist, 'inspector'), { recursive: true })
await writeFile(join(dist, 'inspector/page.js'), page.script)
await writeFile(join(dist, 'inspector/page.css'), page.style)
const metafile = { outputs: { ...program.outputs, ...page.metafile.outputs } }
await writeLicences({ root, metafile, file: join(dist, 'THIRD-PARTY-LICENSES.txt') })

async function emitTypes() {
  const words = [tsc, '-p', join(root, 'tsconfig.build.json'), '--checkers', '1']
  await promisify(execFile)(process.execPath, words).catch(({ stdout }) => {
    throw new Error(`tsc failed:\n${stdout}`)
  })
  await keepReachableTypes({ dist, entries: library })
}
