// `npm run build`: makes of each public package a folder, packages/<name>/dist, as npm gets it. What a package needs at run
// time (`dependencies`) stays a package of its own; the rest is bundled, and everything of the command is.
import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bundle } from './bundle.mjs'
import { writeLicences } from './licences.mjs'
import { bundlePage } from './page.mjs'
import { writeTables } from './tables.mjs'
import { keepReachableTypes } from './types.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const wasm = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm')

/** What lies beside the code of a package: from the repository's root to the package's. */
const BESIDE = {
  core: {
    'packages/core/data/LICENSE-APACHE-2.0': 'LICENSE-APACHE-2.0',
    'packages/core/data/NOTICE': 'NOTICE',
  },
  toolshelf: {
    'packages/core/data': 'data',
    'packages/cli/examples': 'examples',
    'CHANGELOG.md': 'CHANGELOG.md',
    [wasm]: 'src/quickjs.wasm',
  },
}

/** The public packages: their folders, manifests, and the source file of each door. */
async function publicPackages() {
  const names = await readdir(join(root, 'packages'))
  const found = await Promise.all(
    names.map(async (name) => {
      const folder = join(root, 'packages', name)
      const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
      const doors = Object.entries(manifest.exports).flatMap(([door, file]) =>
        sourceName(file).map((source) => [`${manifest.name}${door.slice(1)}`, source]),
      )
      // Modules that conditions choose from, inside of the package.
      const chosen = Object.values(manifest.imports ?? {}).flatMap((target) =>
        typeof target === 'string' ? [] : Object.values(target).flatMap(sourceName),
      )
      return { folder, dist: join(folder, 'dist'), manifest, doors: Object.fromEntries(doors), chosen }
    }),
  )
  return found.filter(({ manifest }) => !manifest.private)
}

/** The name of a source file that a manifest points to. */
const sourceName = (file) => {
  const name = /^\.\/src\/(.*)\.ts$/.exec(file)?.[1]
  return name === undefined ? [] : [name]
}

/** Doors of the core that hold a table each; the build writes them. */
const TABLES = ['bridge', 'meaning']

async function buildPackage({ folder, dist, manifest, doors, chosen }) {
  const isCommand = manifest.bin !== undefined
  const hasScripts = isCommand || manifest.name === '@toolshelf/scripts'
  const hasTables = manifest.name === '@toolshelf/core'
  const page = isCommand ? await bundlePage() : undefined
  const metafile = await bundle({
    root,
    dist,
    entries: {
      ...Object.fromEntries(
        [...Object.values(doors), ...chosen, ...(isCommand ? ['main'] : [])]
          .filter((name) => !hasTables || !TABLES.includes(name))
          .map((name) => [name, join(folder, 'src', `${name}.ts`)]),
      ),
      ...(hasScripts ? { 'src/worker': join(root, 'packages/scripts/src/worker.mjs') } : {}),
    },
    external: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.imports }),
  })
  if (!isCommand) refuseForeignSources(metafile, `packages/${basename(folder)}/`)
  if (hasTables) await writeTables({ data: join(folder, 'data'), dist })
  if (page) {
    await writeFile(join(dist, 'src/page.js'), page.script)
    await writeFile(join(dist, 'src/page.css'), page.style)
    // npm sets this at install; a link that npx made before a build keeps the mode of the file.
    await chmod(join(dist, 'main.js'), 0o755)
  }
  const outputs = { ...metafile.outputs, ...page?.metafile.outputs }
  await writeLicences({ root, metafile: { outputs }, file: join(dist, 'THIRD-PARTY-LICENSES.txt') })
  const beside = {
    LICENSE: 'LICENSE',
    [`packages/${basename(folder)}/README.md`]: 'README.md',
    ...BESIDE[manifest.name.split('/').at(-1)],
  }
  for (const [from, to] of Object.entries(beside))
    await cp(isAbsolute(from) ? from : join(root, from), join(dist, to), { recursive: true })
  await writeFile(join(dist, 'package.json'), `${JSON.stringify(published(manifest), null, 2)}\n`)
}

/** One of our packages that package.json does not name would be bundled, and be there twice. */
function refuseForeignSources({ inputs }, own) {
  const foreign = Object.keys(inputs).find((path) => path.startsWith('packages/') && !path.startsWith(own))
  if (foreign) throw new Error(`${own} imports ${foreign}, which its package.json does not name`)
}

/** The manifest as npm gets it: doors lead to what was built. */
function published({ devDependencies, scripts, imports, ...manifest }) {
  const doors = Object.entries(manifest.exports).map(([door, file]) => {
    const [name] = sourceName(file)
    return [door, name === undefined ? file : { types: `./types/${name}.d.ts`, default: `./${name}.js` }]
  })
  const built =
    imports && JSON.parse(JSON.stringify(imports).replaceAll(/"\.\/src\/([^"]*)\.ts"/g, '"./$1.js"'))
  const bin =
    manifest.bin &&
    Object.fromEntries(Object.entries(manifest.bin).map(([name, file]) => [name, file.replace('dist/', '')]))
  return {
    ...manifest,
    ...(bin ? { bin } : {}),
    ...(built ? { imports: built } : {}),
    exports: Object.fromEntries(doors),
  }
}

const packages = await publicPackages()
await Promise.all(packages.map(({ dist }) => rm(dist, { recursive: true, force: true })))
await mkdir(join(root, 'packages/cli/dist/src'), { recursive: true })
await Promise.all([...packages.map(buildPackage), emitTypes()])

/** Declarations come from the compiler, package by package. */
async function emitTypes() {
  const words = [tsc, '--build', join(root, 'tsconfig.build.json')]
  await promisify(execFile)(process.execPath, words).catch(({ stdout }) => {
    throw new Error(`tsc failed:\n${stdout}`)
  })
  keepReachableTypes(packages.map(({ dist, doors }) => ({ types: join(dist, 'types'), doors })))
}
