// Bundles a benchmark program as the package's own build does, because what tsx adds to sources (names of functions, most of
// all) would distort the measurement.
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Bundles `bench/<file>` and returns the path of the result. Packages are not bundled, so the result is written below node_modules. */
export async function bundled(file: string): Promise<string> {
  const outfile = join(ROOT, 'node_modules/.cache/toolshelf-bench', file.replace(/\.ts$/, '.mjs'))
  await mkdir(dirname(outfile), { recursive: true })
  await build({
    absWorkingDir: ROOT,
    entryPoints: [join('bench', file)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    charset: 'utf8',
    logLevel: 'warning',
    plugins: [placesOfSources],
  })
  return outfile
}

/** Sources find their data files beside themselves. */
const placesOfSources: Plugin = {
  name: 'places of sources',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/](src|bench)[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const contents = text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      return { contents, loader: 'ts' }
    })
  },
}
