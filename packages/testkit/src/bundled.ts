// Programs that tests start: bundled into one file with their packages, since loading all of these files one by one takes a
// second of CPU time.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Below node_modules, where packages that are not bundled can be found. */
const folder = join(root, 'node_modules/.cache/toolshelf-tests')
let count = 0

/** Packages written in CommonJS load those of Node by `require`, which modules do not have. */
const REQUIRE = `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`

/** Bundles a file, or the text of a program that imports from the project's root; returns the path for Node. */
export async function bundled(
  program: { readonly file: string } | { readonly text: string },
): Promise<string> {
  const outfile = join(folder, `${process.pid}-${++count}.mjs`)
  await build({
    ...('file' in program
      ? { entryPoints: [program.file] }
      : { stdin: { contents: program.text, resolveDir: root, loader: 'ts' } }),
    ...{ bundle: true, format: 'esm', platform: 'node', logLevel: 'error', banner: { js: REQUIRE } },
    plugins: [ownPlaces],
    outfile,
  })
  return outfile
}

/** Sources that look for files beside them find them. */
const ownPlaces: Plugin = {
  name: 'own places',
  setup({ onLoad }) {
    onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const place = JSON.stringify(pathToFileURL(path).href)
      return {
        contents: text.replaceAll('import.meta.url', place),
        loader: path.endsWith('x') ? 'tsx' : 'ts',
      }
    })
  },
}
