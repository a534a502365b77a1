// Bundles the inspector's page: one script and one style sheet, for browsers, with everything they need.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Returns the texts of `page.js` and `page.css`, and esbuild's metafile. */
export async function bundlePage() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: 'packages/inspector/src/page/main.tsx' },
    outdir: 'packages/cli/dist',
    bundle: true,
    minify: true,
    format: 'iife',
    platform: 'browser',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    tsconfig: join(root, 'tsconfig.page.json'),
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    write: false,
  })
  const textOf = (ending) => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? ''
  return { script: textOf('.js'), style: textOf('.css'), metafile }
}
