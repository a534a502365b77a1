// Bundles src/ and its packages with esbuild: one file per entry, and chunks that the entries share or load on demand.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { build } from 'esbuild'

/** Placeholder for the path from an output file to dist/, which is known only once esbuild has placed the module. */
const TO_DIST = '__PATH_TO_DIST__'

/** Bundles the entries; returns esbuild's metafile, which lists the inputs of each output. */
export async function bundle({ root, dist, entries, workers }) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries([
      ...entries.map((entry) => [entry, join('src', `${entry}.ts`)]),
      ...workers.map((entry) => [entry, join('src', `${entry}.mjs`)]),
    ]),
    outdir: dist,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    jsx: 'automatic',
    charset: 'utf8',
    legalComments: 'none',
    // React's development build is slow; with DEV set, Ink looks for its own package.json.
    define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
    plugins: [ourSources(root), builtinsForCommonJs, withoutDeveloperTools],
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

/** Loads our sources, with the one change that only the bundle needs. */
function ourSources(root) {
  const source = join(root, 'src')
  return {
    name: 'our sources',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, async ({ path }) => {
        if (!path.startsWith(source + sep)) return undefined
        const text = await readFile(path, 'utf8')
        const contents = keepPlace(text, relative(source, path))
        return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' }
      })
    },
  }
}

/** Rewrites `import.meta.url`: whatever chunk a source file ends up in, its URL is that of the file that tsc would write. */
function keepPlace(text, path) {
  const place = path
    .split(sep)
    .join('/')
    .replace(/\.tsx?$/, '.js')
  return text.replaceAll('import.meta.url', `new URL('${TO_DIST}/${place}', import.meta.url).href`)
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
