// Bundles the inspector's page: one script and one style sheet, for browsers, with everything they need.
import { join } from 'node:path'
import { build } from 'esbuild'

/** Writes `inspector/page.js` and `inspector/page.css` below `dist`. Returns esbuild's metafile. */
export async function bundlePage({ root, dist }) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: 'src/inspector/page/main.tsx' },
    outdir: join(dist, 'inspector'),
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
  })
  return metafile
}
