// Bundles one of our packages with esbuild: one file per entry, and chunks that the entries share or load on demand.
import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { build } from 'esbuild'

/** Placeholder for the path from an output file to dist/, which is known only once esbuild has placed the module. */
const TO_DIST = '__PATH_TO_DIST__'

/** Bundles the entries; returns esbuild's metafile, which lists the inputs of each output. */
export async function bundle({ root, dist, entries, external }) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries,
    external,
    outdir: dist,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    jsx: 'automatic',
    charset: 'utf8',
    legalComments: 'none',
    // React's development build is slow; with DEV set, Ink looks for its own package.json.
    define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
    plugins: [ourSources(root, entries, external), builtinsForCommonJs, withoutDeveloperTools, oneHttpParser],
    logLevel: 'warning',
    metafile: true,
    write: false,
  })
  await Promise.all(outputFiles.map((file) => write(file, dist)))
  return metafile
}

async function write({ path, text }, dist) {
  const toDist = relative(dirname(path), dist).split(sep).join('/') || '.'
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text.replaceAll(TO_DIST, toDist))
}

/** Loads our sources, with the two changes that only the bundle needs. */
function ourSources(root, entries, external) {
  // An entry in a folder keeps its place below src/ too: what it finds beside it lies at the package's root.
  const atRoot = Object.entries(entries).filter(([name]) => !name.includes('/'))
  const names = new Map(atRoot.map(([name, file]) => [file, name]))
  const packages = join(root, 'packages') + sep
  return {
    name: 'our sources',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, async ({ path }) => {
        if (!path.startsWith(packages)) return undefined
        const place = names.get(path) ?? relative(packages, path).split(sep).slice(1).join('/')
        const contents = keepPlace(seeThroughDoors(await readFile(path, 'utf8'), packages, external), place)
        return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' }
      })
    },
  }
}

/** Rewrites `import.meta.url`: whatever chunk a source file ends up in, its URL is below dist/src, that of an entry in dist. */
function keepPlace(text, place) {
  const built = `${place.replace(/\.tsx?$/, '')}.js`
  return text.replaceAll('import.meta.url', `new URL('${TO_DIST}/${built}', import.meta.url).href`)
}

const IMPORT = /^(import|export) \{([^}]*)\} from '(@toolshelf\/[^']+)'/gm

/**
 * Imports from the doors of bundled packages become imports of the files behind them: esbuild loads all that a door names
 * wherever one of its names is wanted, and a command would start with everything.
 */
function seeThroughDoors(text, packages, external) {
  return text.replace(IMPORT, (whole, verb, list, spec) => {
    if (external.some((name) => spec === name || spec.startsWith(`${name}/`))) return whole
    const names = list
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item && !item.startsWith('type '))
    return names
      .map(
        (name) => `${verb} { ${name} } from ${JSON.stringify(behind(packages, spec, name.split(' as ')[0]))}`,
      )
      .join('\n')
  })
}

/** The file behind a door that a name comes from; the door itself if it declares the name. */
function behind(packages, spec, name) {
  const [, owner, door = ''] = /^@toolshelf\/([^/]+)(\/.*)?$/.exec(spec)
  const { exports } = JSON.parse(readFileSync(join(packages, owner, 'package.json'), 'utf8'))
  const file = join(packages, owner, exports[`.${door}`])
  for (const [, list, from] of readFileSync(file, 'utf8').matchAll(/^export \{([^}]*)\} from '([^']+)'/gm))
    if (list.split(',').some((item) => item.trim() === name))
      return from.startsWith('.') ? join(dirname(file), from) : behind(packages, from, name)
  return file
}

/** ES modules have no `require`, which bundled CommonJS packages call for Node's own modules. */
const builtinsForCommonJs = {
  name: 'builtins for CommonJS',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z]/ }, ({ path, kind }) =>
      kind === 'require-call' && isBuiltin(path) ? { path, namespace: 'builtin' } : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
    }))
  },
}

/** Ink's developer tools need packages that only a developer of Ink installs. */
const withoutDeveloperTools = {
  name: 'without developer tools',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/devtools\.js$/ }, ({ path, importer }) =>
      /[\\/]node_modules[\\/]ink[\\/]/.test(importer) ? { path, namespace: 'left-out' } : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: '' }))
  },
}

/** undici holds its parser of HTTP twice, the second for processors without SIMD. That one runs everywhere, and takes 72 kB. */
const oneHttpParser = {
  name: 'one HTTP parser',
  setup({ onResolve }) {
    onResolve({ filter: /llhttp_simd-wasm\.js$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace('llhttp_simd-wasm', 'llhttp-wasm')),
    }))
  },
}
